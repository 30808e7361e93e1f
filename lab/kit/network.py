"""Hosts: network namespaces joined by a bridge in a namespace of its own, with no way out. Each has a host name, /sys and the
control groups as a machine has them."""
import os
import shlex

from kit.machine import PREFIX, run

SUBNET = "10.77.0."


class Hosts:
    def __init__(self, count):
        self.names = [f"node{i + 1:02}" for i in range(count)]
        self.switch = self._space("sw")
        self._add(self.switch)
        run("ip", "-n", self.switch, "link", "add", "br0", "type", "bridge")
        run("ip", "-n", self.switch, "link", "set", "br0", "up")
        for i, name in enumerate(self.names):
            space = self._space(name)
            self._add(space)
            run("ip", "link", "add", f"e{os.getpid()}"[:14], "netns", space, "type", "veth", "peer", "name", f"p{i}",
                "netns", self.switch)
            run("ip", "-n", space, "link", "set", f"e{os.getpid()}"[:14], "name", "eth0")
            run("ip", "-n", self.switch, "link", "set", f"p{i}", "master", "br0", "up")
            run("ip", "-n", space, "addr", "add", self.address(i) + "/24", "dev", "eth0")
            run("ip", "-n", space, "link", "set", "eth0", "up")
            # One packet is one packet then, and not 64 KB of them.
            for where, device in ((space, "eth0"), (self.switch, f"p{i}")):
                run("ip", "netns", "exec", where, "ethtool", "-K", device, "tso", "off", "gso", "off", "gro", "off", check=False)

    @staticmethod
    def _add(space):
        run("ip", "netns", "add", space)
        run("ip", "-n", space, "link", "set", "lo", "up")

    @staticmethod
    def _space(name):
        return f"{PREFIX}{os.getpid()}-{name}"

    def space(self, i):
        return self._space(self.names[i])

    @staticmethod
    def address(i):
        return f"{SUBNET}{i + 1}"

    def addresses(self):
        return [self.address(i) for i in range(len(self.names))]

    def inside(self, i, command):
        """The command line that runs `command` on host i."""
        setup = (f"mkdir -p /run/{PREFIX}groups && mount --rbind /sys/fs/cgroup /run/{PREFIX}groups && mount -t sysfs lab /sys && "
                 f"mount --rbind /run/{PREFIX}groups /sys/fs/cgroup; hostname {self.names[i]}; exec " +
                 " ".join(shlex.quote(str(w)) for w in command))
        return ["nsenter", f"--net=/run/netns/{self.space(i)}", "unshare", "--uts", "--mount", "sh", "-c", setup]

    def do(self, i, *words, check=True):
        return run("ip", "netns", "exec", self.space(i), *words, check=check)

    def snmp(self, i, protocol, key):
        """A counter of /proc/net/snmp or netstat of host i."""
        text = run("nsenter", f"--net=/run/netns/{self.space(i)}", "cat", "/proc/net/snmp", "/proc/net/netstat")
        lines = [line.split() for line in text.splitlines() if line.startswith(protocol + ":")]
        for names, values in zip(lines[::2], lines[1::2]):
            if key in names:
                return int(values[names.index(key)])
        raise RuntimeError(f"no counter {protocol} {key}")

    def switch_port(self, i, state):
        run("ip", "-n", self.switch, "link", "set", f"p{i}", state)
