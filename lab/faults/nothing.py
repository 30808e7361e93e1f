from kit.fault import Fault as Base, Proof


class Fault(Base):
    family = "control"
    title = "no fault"
    job = {"direct": True}
    least = 0

    def proof(self, lab):
        return Proof("nothing", 0)
