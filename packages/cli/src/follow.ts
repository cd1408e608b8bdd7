import { ApiError, type Client } from '@davit/client';
import type { Cli } from './cli.ts';
import { CliError, exitCodes, type ExitCode } from './errors.ts';
import { explainFailure, readCircumstances } from './explanation.ts';
import { duration, plural } from './output/text.ts';
import { locationName, type Location, type Site } from './location.ts';
import { Progress, progressLine, type Milestone } from './progress.ts';
import { statusesOf } from './statuses.ts';

/** Flags of commands that start a deployment. */
export interface FollowFlags {
  readonly detach: boolean;
  readonly timeout?: number;
  readonly log: boolean;
  readonly jsonLines: boolean;
  readonly json: boolean;
  readonly quiet: boolean;
}

/**
 * Remembers which lines of a log were printed. A stream that cannot resume sends the log from its beginning. Lines of
 * several services come in no order of their times, so that a time does not say which lines are known.
 */
export class PrintedLines {
  readonly #printed = new Map<string, number>();
  #repeated = new Map<string, number>();

  /** Notes that the lines so far may come again. */
  repeat(): void {
    this.#repeated = new Map(this.#printed);
  }

  /** Returns whether a line must be printed, and remembers it. The same line may be printed more than once. */
  isNew(line: string): boolean {
    const left = this.#repeated.get(line) ?? 0;
    if (left > 0) {
      this.#repeated.set(line, left - 1);
      return false;
    }
    this.#printed.set(line, (this.#printed.get(line) ?? 0) + 1);
    return true;
  }
}

/** Milliseconds between two drawings of the progress on a terminal. */
const drawMilliseconds = 120;
const silenceMilliseconds = 1000;

/** Says where something is going to be changed. It is the first line of each such command. */
export function announce(cli: Cli, location: Location): void {
  cli.out.talk(`  ${cli.out.style('grey', locationName(location))}`);
}

/**
 * Follows a deployment to its end and reports it; returns the exit code. With `detach` only its id is reported. Null:
 * nothing was queued, as there is nothing to do.
 */
export async function followDeployment(
  cli: Cli,
  site: Site,
  requestId: string | null | undefined,
  flags: FollowFlags,
): Promise<ExitCode> {
  if (requestId === null || requestId === undefined) {
    cli.out.talk('  Nothing to do.');
    return exitCodes.done;
  }
  if (flags.quiet) cli.out.data(requestId);
  if (flags.detach) {
    if (flags.json) cli.out.json({ deployment_request_id: requestId });
    else if (!flags.quiet) cli.out.data(requestId);
    return exitCodes.done;
  }
  const began = performance.now();
  const progress = await new Follower(cli, site, requestId, flags).run();
  return report(cli, site, progress, { flags, took: performance.now() - began });
}

/** Follows one deployment: draws its progress, and reacts to Ctrl-C. */
class Follower {
  readonly #cli: Cli;
  readonly #client: Client;
  readonly #environmentId: string;
  readonly #requestId: string;
  readonly #flags: FollowFlags;
  readonly #progress = new Progress();
  readonly #leave = new AbortController();
  readonly #begunAt = Date.now();
  #drawn = 0;
  #drawing: ReturnType<typeof setTimeout> | undefined;
  #lastAlive = Date.now();
  readonly #lines = new PrintedLines();
  #isOpen = false;
  #isAsked = false;

  constructor(cli: Cli, site: Site, requestId: string, flags: FollowFlags) {
    this.#cli = cli;
    this.#client = site.client;
    this.#environmentId = site.location.environment.id;
    this.#requestId = requestId;
    this.#flags = flags;
  }

  async run(): Promise<Progress> {
    const { timeout } = this.#flags;
    const timer = timeout === undefined ? undefined : setTimeout(() => this.#leave.abort(tooLong(timeout)), pauseOf(timeout));
    if (this.#isDrawn) this.#keepDrawing();
    const waiting = setTimeout(() => this.#sayWaiting(), silenceMilliseconds);
    const onInterrupt = (): void => this.#onInterrupt();
    process.on('SIGINT', onInterrupt);
    try {
      await this.#follow();
      this.#draw();
      return this.#progress;
    } catch (error) {
      this.#draw();
      throw error;
    } finally {
      clearTimeout(timer);
      clearTimeout(waiting);
      clearTimeout(this.#drawing);
      process.removeListener('SIGINT', onInterrupt);
      this.#endKeys();
    }
  }

  /** Lines change in place on a terminal, unless other lines come between. */
  get #isDrawn(): boolean {
    const { log, jsonLines, quiet } = this.#flags;
    return this.#cli.out.isTerminal && !log && !jsonLines && !quiet;
  }

  async #follow(): Promise<void> {
    const params = { deploymentRequestId: this.#requestId };
    const onAlive = (): void => void (this.#lastAlive = Date.now());
    for await (const received of this.#client.stream('streamDeployment', { params, signal: this.#leave.signal, onAlive })) {
      if (this.#flags.jsonLines) this.#cli.out.data(JSON.stringify(received));
      if (received.event === 'OPEN') this.#onOpen();
      if (received.event === 'OPEN' || received.event === 'RESET') this.#lines.repeat();
      if (received.event === 'DEPLOYMENT_LOG' && this.#flags.log && this.#lines.isNew(JSON.stringify(received.data))) {
        const name = this.#progress.services.get(received.data.service_id ?? '')?.name ?? '';
        this.#cli.out.talk(
          `  ${this.#cli.out.style('grey', `${received.data.at.slice(11, 19)} ${name}`)} ${received.data.message}`,
        );
      }
      const milestones = this.#progress.apply(received);
      if (!this.#isDrawn && !this.#flags.quiet && !this.#flags.jsonLines) for (const one of milestones) this.#say(one);
      if (received.event === 'END' && received.data.code !== 'DONE' && !received.data.resume) {
        const isSignedOut = received.data.code === 'UNAUTHORIZED' || received.data.code === 'TOKEN_EXPIRED';
        const exitCode = isSignedOut ? exitCodes.notSignedIn : exitCodes.failed;
        throw new CliError(received.data.message, { exitCode, advice: ['The deployment goes on: davit status'] });
      }
    }
  }

  #onOpen(): void {
    if (this.#isOpen && !this.#flags.quiet) {
      const lost = new Date(this.#lastAlive).toTimeString().slice(0, 8);
      this.#clear();
      const { out } = this.#cli;
      const line = out.either('──', '--');
      out.talk(`${line} connection lost ${lost}, back ${new Date().toTimeString().slice(0, 8)}, nothing missed ${line}`);
    }
    this.#isOpen = true;
  }

  #say({ at, service, mark, text }: Milestone): void {
    const { out } = this.#cli;
    out.talk(`  ${out.style('grey', new Date(at).toTimeString().slice(0, 8))} ${service}  ${out.mark(mark)} ${text}`);
  }

  #sayWaiting(): void {
    if (this.#progress.services.size > 0 || this.#flags.quiet || this.#isDrawn) return;
    this.#cli.out.talk('  Waiting for the deployment to start: another one of this environment may be under way.');
  }

  #draw(): void {
    if (!this.#isDrawn) return;
    const { out } = this.#cli;
    const all = [...this.#progress.services.values()];
    const now = this.#cli.now();
    const pad = Math.max(0, ...all.map(({ name }) => name.length));
    const most = 20;
    // The display must fit on the screen, as lines that have scrolled away cannot change.
    const shown = all.length <= most ? all : all.filter(({ isOver }) => !isOver).slice(0, most);
    const lines = shown.map((one) => progressLine(one, out, { now, pad, columns: out.columns }));
    if (all.length > most) lines.push(`  ${all.filter(({ isOver }) => isOver).length} of ${plural(all.length, 'service')} done`);
    if (all.length === 0) lines.push(`  ${out.mark('wait')} waiting ${out.style('grey', duration(Date.now() - this.#begunAt))}`);
    this.#clear();
    out.draw(lines.map((line) => `${line}\n`).join(''));
    this.#drawn = lines.length;
  }

  #keepDrawing(): void {
    this.#draw();
    this.#drawing = setTimeout(() => this.#keepDrawing(), drawMilliseconds);
  }

  #clear(): void {
    if (this.#drawn > 0) this.#cli.out.draw(`\u001B[${this.#drawn}A\u001B[0J`);
    this.#drawn = 0;
  }

  #onInterrupt(): void {
    if (!this.#cli.isInteractive || this.#isAsked) {
      this.#leave.abort(
        new CliError('Stopped watching. The deployment goes on.', { exitCode: exitCodes.interrupted, advice: ['davit status'] }),
      );
      return;
    }
    this.#isAsked = true;
    this.#clear();
    this.#cli.out.talk('  Still deploying. Press Ctrl-C again to stop watching, or c to cancel the deployment.');
    this.#cli.stdin.setRawMode(true).resume().on('data', this.#onKey);
  }

  readonly #onKey = (key: Buffer): void => {
    // A terminal in raw mode sends Ctrl-C as a byte instead of a signal.
    if (key.includes(3)) this.#onInterrupt();
    if (!key.toString().toLowerCase().includes('c')) return;
    this.#endKeys();
    this.#clear();
    this.#cli.out.talk('  Canceling.');
    this.#cancel().catch((error: unknown) => this.#leave.abort(error));
  };

  /** Withdraws the request, or cancels the deployment that it has become. */
  async #cancel(): Promise<void> {
    const params = { deploymentRequestId: this.#requestId };
    try {
      await this.#client.call('cancelDeploymentRequest', { params });
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'ALREADY_STARTED') throw error;
      await this.#client.call('cancelEnvironmentDeployment', { params: { environmentId: this.#environmentId }, body: {} });
    }
  }

  #endKeys(): void {
    if (!this.#isAsked) return;
    this.#cli.stdin.removeListener('data', this.#onKey).setRawMode(false).pause();
  }
}

/** The longest time of a timer of Node.js. A longer one would end at once. */
const longestMilliseconds = 2 ** 31 - 1;

/** Returns the milliseconds of a timer that ends after so many seconds. */
export function pauseOf(seconds: number): number {
  return Math.min(seconds * 1000, longestMilliseconds);
}

function tooLong(seconds: number): CliError {
  return new CliError(`The deployment has not ended after ${duration(seconds * 1000)}. It goes on.`, {
    exitCode: exitCodes.waitedTooLong,
    advice: ['davit status'],
  });
}

interface Reporting {
  readonly flags: FollowFlags;
  readonly took: number;
}

async function report(cli: Cli, site: Site, progress: Progress, { flags, took }: Reporting): Promise<ExitCode> {
  const isDone = progress.status === 'SUCCEEDED';
  if (isDone && !flags.json) {
    if (!flags.quiet && !flags.jsonLines) await reportSuccess(cli, site, progress, took);
    return exitCodes.done;
  }
  const params = { environmentId: site.location.environment.id };
  const all = statusesOf(await site.client.call('getEnvironmentStatuses', { params }));
  const mine = all.filter(({ status }) => progress.services.has(status.id));
  if (flags.json) cli.out.json({ results: mine.map(({ status }) => status) });
  if (isDone) return exitCodes.done;
  for (const { status, type } of mine) {
    const service = progress.services.get(status.id);
    if (service === undefined || service.failure === null || status.failure === null || status.failure === undefined) continue;
    const reference = { id: status.id, name: service.name, type };
    const circumstances = await readCircumstances(site.client, reference, status.execution_id);
    cli.out.talk();
    explainFailure(cli, { name: service.name, failure: status.failure, status, ...circumstances });
  }
  if (progress.status !== 'FAILED') cli.out.talk(`  The deployment was ${progress.status.toLowerCase()}.`);
  return exitCodes.deploymentFailed;
}

async function reportSuccess(cli: Cli, site: Site, progress: Progress, took: number): Promise<void> {
  const params = { environmentId: site.location.environment.id };
  const { results } = await site.client.call('listEnvironmentServicesLinks', { params });
  const links = results.filter(({ service_id: id }) => progress.services.has(id));
  cli.out.talk(cli.out.style('grey', `  ${plural(progress.services.size, 'service')} · ${duration(took)}`));
  const chosen = links.filter(
    (link) => link.is_default || links.every((one) => one === link || one.service_id !== link.service_id),
  );
  for (const { url } of chosen.length > 0 ? chosen : links) cli.out.data(url);
}
