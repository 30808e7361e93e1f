from faults import stopped_straggler


class Fault(stopped_straggler.Fault):
    title = "the training process of one rank is stopped for two steps, then runs for some"
    running, stopped = 0.35, 0.15
