"""The plot: each ratio as a bar on a logarithmic axis, with its goal as a mark."""

from __future__ import annotations

from pathlib import Path

from bench.competitors import MissingPeer
from bench.report import Report

COLOURS = {True: "#2f7d4f", False: "#b3372f", None: "#8a8f98"}


def write_plot(report: Report, path: Path) -> None:
    """Write a PNG."""
    try:
        import matplotlib as mpl  # noqa: PLC0415

        mpl.use("agg")
        from matplotlib import pyplot as plt  # noqa: PLC0415
        from matplotlib.patches import Patch  # noqa: PLC0415
    except ImportError as error:
        raise MissingPeer(f"matplotlib, so there is no plot: {error}") from error
    lines = [line for line in report.lines if line.unit == "x"][::-1]
    figure, axes = plt.subplots(figsize=(11, 1 + 0.38 * max(len(lines), 4)), layout="constrained")
    for y, line in enumerate(lines):
        axes.barh(y, line.value - 1, left=1, color=COLOURS[line.reached], height=0.62)
        axes.annotate(
            f"{line.value:.2f}", (line.value, y), textcoords="offset points",
            xytext=(5 if line.value >= 1 else -5, 0), va="center", fontsize=8,
            ha="left" if line.value >= 1 else "right",
        )  # fmt: skip
        if line.goal is not None:
            axes.plot([line.goal[1]] * 2, [y - 0.42, y + 0.42], color="black", linewidth=2)
    axes.axvline(1, color="black", linewidth=0.6)
    axes.set_xscale("log")
    axes.margins(x=0.12)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_yticks(range(len(lines)), [f"{line.id}  {line.what}" for line in lines], fontsize=8)
    axes.set_xlabel("ratio of times in one run (1 = the same; black mark = goal)")
    axes.set_title(report.title)
    axes.legend(
        handles=[
            Patch(color=COLOURS[True], label="reached"),
            Patch(color=COLOURS[False], label="NOT reached"),
            Patch(color=COLOURS[None], label="no goal"),
        ],
        loc="best", fontsize=8,
    )  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=140)
    plt.close(figure)
