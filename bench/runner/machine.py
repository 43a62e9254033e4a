"""Where the numbers come from: they mean nothing without it."""

import os
import platform
import subprocess


def _cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8") as cpuinfo:
        for line in cpuinfo:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def _git(root, *arguments):
    answer = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    return answer.stdout.strip() if answer.returncode == 0 else None


def _commit(root):
    commit = _git(root, "rev-parse", "--short=12", "HEAD")
    if not commit:
        return "none"
    return commit + " with changes" if _git(root, "status", "--porcelain") else commit


def describe(root):
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "load_average_before": round(os.getloadavg()[0], 2),
        "kernel": f"{platform.system()} {platform.release()}",
        "commit": _commit(root),
    }
