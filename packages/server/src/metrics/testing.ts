import { spawnSync } from 'node:child_process';

/** One scrape of `/metrics`: values by series, as `name{label="value"}` or a bare name. */
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

  /** undefined: there is no such series. */
  value(series: string): number | undefined {
    return this.series.get(series);
  }

  /** Names of series, as expressions have them: with `_bucket`, `_sum` and `_count` of histograms. */
  get names(): ReadonlySet<string> {
    return new Set([...this.series.keys()].map(nameOf));
  }
}

export function nameOf(series: string): string {
  return series.split('{', 1)[0] ?? series;
}

const program = 'promtool';

/** Debian's package `prometheus` has it. */
export const hasPromtool = spawnSync(program, ['--version']).status === 0;

/** For the title of what is left out without it. */
export const promtoolRemedy = hasPromtool ? '' : ' (SKIPPED: promtool is not in PATH; on Debian: apt-get install prometheus)';

/** Runs it; answers what it prints, with `exit code` in front where that is not 0. */
export function promtool(options: readonly string[], input = '', folder?: string): string {
  const { status, stdout, stderr } = spawnSync(program, options, { input, encoding: 'utf8', cwd: folder });
  return `${status === 0 ? '' : `exit code ${status}\n`}${stdout}${stderr}`;
}
