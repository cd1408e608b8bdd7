import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { load } from 'js-yaml';

/** One scrape of `/metrics`: values by series, such as `name{label="value"}` or a bare name. */
export class Scrape {
  readonly text: string;
  readonly series: ReadonlyMap<string, number>;

  constructor(text: string) {
    this.text = text;
    this.series = new Map(
      text
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#'))
        .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))] as const),
    );
  }

  static async of(baseUrl: string): Promise<Scrape> {
    const response = await fetch(`${baseUrl}/metrics`);
    if (response.status !== 200) throw new Error(`/metrics answers ${response.status}`);
    return new Scrape(await response.text());
  }

  /** Returns the value of a series; undefined if there is no such series. */
  value(series: string): number | undefined {
    return this.series.get(series);
  }

  /** Names of series as expressions use them, including `_bucket`, `_sum` and `_count` of histograms. */
  get names(): ReadonlySet<string> {
    return new Set([...this.series.keys()].map(nameOf));
  }
}

function nameOf(series: string): string {
  return series.split('{', 1)[0] ?? series;
}

const program = 'promtool';

/** Whether promtool is installed. Debian's package `prometheus` contains it. */
export const hasPromtool = spawnSync(program, ['--version']).status === 0;

/** Suffix for the titles of tests that are skipped without promtool. */
export const promtoolRemedy = hasPromtool ? '' : ' (SKIPPED: promtool is not in PATH; on Debian: apt-get install prometheus)';

/** Runs promtool; returns its output, preceded by `exit code` if that is not 0. */
export function promtool(options: readonly string[], input = '', folder?: string): string {
  const { status, stdout, stderr } = spawnSync(program, options, { input, encoding: 'utf8', cwd: folder });
  return `${status === 0 ? '' : `exit code ${status}\n`}${stdout}${stderr}`;
}

/** The files for operators. */
export const deployFolder = path.join(import.meta.dirname, '../../../../deploy');

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity?: string };
  readonly annotations: Readonly<Record<string, string>>;
}

export function alertRules(): readonly AlertRule[] {
  const text = readFileSync(path.join(deployFolder, 'prometheus/alerts.yaml'), 'utf8');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- promtool checks the file
  const { groups } = load(text) as { readonly groups: readonly { readonly rules: readonly AlertRule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

/** Series of the faults with which the alerts are tested, without the labels that Prometheus adds. */
export function faultSeries(): readonly string[] {
  const text = readFileSync(path.join(deployFolder, 'prometheus/alerts.test.yaml'), 'utf8');
  return [...text.matchAll(/series: '([^']+)'/g)].map(([, series = '']) =>
    series.replace(/,?instance="[^"]*",job="[^"]*"/, '').replace('{}', ''),
  );
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource?: object;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly datasource?: object }[];
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as Grafana has it
export const dashboard = JSON.parse(readFileSync(path.join(deployFolder, 'grafana/davit.json'), 'utf8')) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly definition?: string }[] };
};

export function dashboardExpressions(): readonly string[] {
  return dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}

/** Returns the names of series in an expression or in the definition of a variable. */
export function namesIn(expression: string): readonly string[] {
  return expression.match(/\b(?:davit|nodejs|process)_\w+/g) ?? [];
}
