import { command, flags, locationAliases, locationFlags, serviceArgument } from '../command.ts';
import { CliError, exitCodes } from '../errors.ts';
import type { Output } from '../output/output.ts';
import { findService, openSite, type LocationFlags } from '../location.ts';
import { followLines, readLines, type Line } from '../tail.ts';

type LogFlags = LocationFlags & {
  readonly follow: boolean;
  readonly since?: number;
  readonly lines?: number;
  readonly grep?: string;
  readonly instance?: string;
  readonly level?: 'debug' | 'info' | 'warning' | 'error';
  readonly plain: boolean;
  readonly jsonLines: boolean;
};

const defaultLines = 100;
/** With `--since`, the time is the limit. */
const mostLines = 1_000_000;

export const logs = command<LogFlags>({
  brief: 'Print what a service printed, also that of instances that are gone',
  details:
    'The lines go to stdout, byte for byte after the time and the instance; remarks go to stderr. With --follow a lost connection or a restart of the server loses and repeats no line.',
  examples: [
    ['api -f', 'the newest lines, and all that follow'],
    ['api --since 1h --level error', 'the errors of the last hour'],
    ['api -f --grep timeout', 'only lines that contain a text'],
    ['api --plain | jq .', 'only what the service printed'],
  ],
  flags: {
    ...locationFlags,
    follow: flags.flag('Wait for further lines'),
    since: flags.seconds('Lines of the last 10m, 2h, 7d'),
    lines: flags.number('So many lines. Default: 100, with --since all', 'number'),
    grep: flags.text('Lines that contain a text, in small or capital letters', 'text'),
    instance: flags.text('Lines of one instance', 'name'),
    level: {
      kind: 'enum',
      values: ['debug', 'info', 'warning', 'error'],
      optional: true,
      brief: 'Lines of at least this level',
    },
    plain: flags.flag('Without time and instance'),
    jsonLines: flags.flag('Print each line as a line of JSON'),
  },
  aliases: { ...locationAliases, f: 'follow', n: 'lines' },
  arguments: [serviceArgument],
  run: async (cli, given, [name]) => {
    const site = await openSite(cli, given);
    const service = await findService(cli, site, name);
    const { since, lines, grep, instance, level } = given;
    const wanted = {
      ...(grep !== undefined && { text: grep }),
      ...(instance !== undefined && { instance }),
      ...(level !== undefined && { level: upper[level] }),
      ...(since !== undefined && { from: new Date(cli.now() - since * 1000).toISOString() }),
    };
    const count = lines ?? (since === undefined ? defaultLines : mostLines);
    const options = { serviceId: service.id, wanted, count };
    const { out } = cli;
    if (!given.follow) {
      const found = await readLines(site.client, options);
      if (given.json) return out.json({ results: found });
      for (const line of found) out.data(lineText(out, line, given));
      return;
    }
    const interrupt = new AbortController();
    const onInterrupt = (): void => interrupt.abort(new CliError('', { exitCode: exitCodes.interrupted }));
    process.once('SIGINT', onInterrupt);
    const onReturn = (lost: number): void => {
      const [from, to] = [new Date(lost), new Date()].map((time) => time.toTimeString().slice(0, 8));
      const mark = out.either('──', '--');
      out.talk(out.style('grey', `${mark} connection lost ${from}, back ${to}, nothing missed ${mark}`));
    };
    let release: string | null | undefined;
    try {
      const signal = AbortSignal.any([interrupt.signal, out.closed]);
      for await (const line of followLines(site.client, { ...options, signal, onReturn })) {
        if (release !== undefined && line.release !== release && line.release !== null) sayRelease(out, line);
        release = line.release ?? release;
        out.data(lineText(out, line, given));
      }
    } catch (error) {
      if (interrupt.signal.aborted) return exitCodes.interrupted;
      throw error;
    } finally {
      process.removeListener('SIGINT', onInterrupt);
    }
  },
});

const upper = { debug: 'DEBUG', info: 'INFO', warning: 'WARNING', error: 'ERROR' } as const;

function sayRelease(out: Output, { release, at }: Line): void {
  const mark = out.either('──', '--');
  out.talk(out.style('grey', `${mark} release ${release?.slice(0, 8)} from ${timeOf(at)} on ${mark}`));
}

function lineText(out: Output, line: Line, { plain, jsonLines }: LogFlags): string {
  if (jsonLines) return JSON.stringify(line);
  if (plain) return line.message;
  return `${out.style('grey', `${timeOf(line.at)} ${line.instance}`, 'data')}  ${line.message}`;
}

/** Returns the time of day with milliseconds, in the reader's time zone. */
function timeOf(at: string): string {
  const date = new Date(at);
  return `${date.toTimeString().slice(0, 8)}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}
