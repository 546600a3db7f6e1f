/** Draws what became of a burst. */
import { init, use } from "echarts/core";
import { LineChart } from "echarts/charts";
import { GridComponent, LegendComponent, TitleComponent } from "echarts/components";
import { SVGRenderer } from "echarts/renderers";
import type { Sample } from "./samples.ts";

const SIZE = { width: 860, height: 610 };
const TOP = { left: 60, right: 30, top: 70, height: 200 };
const BOTTOM = { left: 60, right: 30, top: 360, height: 200 };
const COLOURS = { waiting: "#d1603d", ended: "#3d8361", busy: "#1b1b1b" };
const HOST_COLOURS = ["#5b8def", "#9cc5f4", "#27476e", "#7d7f87"];

use([LineChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);

/** An SVG: jobs above, workers by host and those that are busy below, over seconds. */
export function picture(samples: readonly Sample[]): string {
  const chart = init(null, null, { renderer: "svg", ssr: true, ...SIZE });
  const hosts = Object.keys(samples.at(0)?.placed ?? {});
  chart.setOption({
    animation: false,
    backgroundColor: "#ffffff",
    title: [heading("Jobs", 8), heading("Workers", 300)],
    legend: [legend(["waiting", "completed"], 32), legend([...hosts, "busy"], 324)],
    grid: [TOP, BOTTOM],
    xAxis: [0, 1].map((gridIndex) => secondsAxis(gridIndex, samples)),
    yAxis: [0, 1].map((gridIndex) => ({ type: "value", gridIndex, minInterval: 1 })),
    series: [
      line("waiting", COLOURS.waiting, 0, samples, ({ inQueue }) => inQueue),
      line("completed", COLOURS.ended, 0, samples, ({ completed }) => completed),
      ...hosts.map((host, index) => ({
        ...line(
          host,
          HOST_COLOURS[index % HOST_COLOURS.length] ?? "",
          1,
          samples,
          ({ placed }) => placed[host] ?? 0,
        ),
        stack: "hosts",
        areaStyle: { opacity: 0.8 },
        lineStyle: { width: 0 },
      })),
      line("busy", COLOURS.busy, 1, samples, ({ workers }) => workers.running),
    ],
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}

function heading(text: string, top: number) {
  return { text, top, left: 20, textStyle: { fontSize: 16 } };
}

function legend(data: readonly string[], top: number) {
  return { data: [...data], top, left: 60, itemGap: 28, icon: "roundRect" };
}

function secondsAxis(gridIndex: number, samples: readonly Sample[]) {
  const max = Math.ceil((samples.at(-1)?.at ?? 0) / 1_000);
  const name = gridIndex === 1 ? "seconds since the first job" : "";
  return { type: "value" as const, gridIndex, max, name, nameLocation: "middle" as const, nameGap: 28 };
}

function line(
  name: string,
  colour: string,
  index: number,
  samples: readonly Sample[],
  read: (sample: Sample) => number,
) {
  return {
    type: "line" as const,
    name,
    xAxisIndex: index,
    yAxisIndex: index,
    step: "end" as const,
    showSymbol: false,
    color: colour,
    data: samples.map((sample) => [sample.at / 1_000, read(sample)]),
  };
}
