"""OpenVINO on the CPU, told in which precision to run; what it ran in stands in its executed graph."""


def open_generation(job):
    from openvino_generation import GeneratingPeer
    return GeneratingPeer(job)


def open_peer(job):
    from openvino_passes import OpenvinoPeer
    return OpenvinoPeer(job)
