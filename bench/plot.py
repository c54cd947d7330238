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


def write_vector_plot(report: Report, path: Path) -> Path | None:
    """Write recall and time over the size of the tenant beside the other plot; None without any."""
    if not report.vectors:
        return None
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, (recall, time) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    for name in dict.fromkeys(point.name for point in report.vectors):
        points = [point for point in report.vectors if point.name == name]
        sizes = [point.size for point in points]
        style = {"linewidth": 2.5 if name == "strongroom" else 1.4, "marker": "o", "markersize": 4}
        recall.plot(sizes, [point.recall for point in points], label=name, **style)
        time.plot(sizes, [point.milliseconds for point in points], label=name, **style)
    recall.axhline(0.95, color="black", linewidth=0.6, linestyle="--")
    recall.set_ylim(-0.03, 1.05)
    recall.set_ylabel("recall@10")
    time.set_yscale("log")
    time.set_ylabel("milliseconds, on this machine")
    for axes in (recall, time):
        axes.set_xscale("log")
        axes.set_xlabel("chunks of the tenant, in one table of all tenants")
    recall.legend(fontsize=8)
    place = path.with_name(f"{path.stem}-vectors{path.suffix}")
    place.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(place, dpi=140)
    plt.close(figure)
    return place
