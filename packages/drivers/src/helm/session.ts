import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '@davit/base';
import type { CallContext } from '../driver.ts';
import { DriverError } from '../errors.ts';
import type { ChartObject, HelmInstall, HelmRun, HelmSession } from '../helm-driver.ts';
import type { CommandEnd } from '../shared/command.ts';
import { homeOf, runHelm } from './command.ts';
import { dependencyRepositories, writeRepositories } from './dependencies.ts';
import { manifestDiff } from './diff.ts';
import type { WrittenRun } from './files.ts';
import { objectsOf } from './objects.ts';

export interface SessionInput {
  readonly run: HelmRun;
  readonly program: string;
  /** The user's accepted arguments. */
  readonly extra: readonly string[];
  readonly written: WrittenRun;
}

const keptRevisions = 10;
const daySeconds = 86_400;

/** The parts of Helm's release output that are read. */
interface PrintedRelease {
  readonly manifest?: string;
  readonly hooks?: readonly { readonly manifest?: string }[];
}

/** See `HelmSession`. */
export class Session implements HelmSession {
  readonly #input: SessionInput;
  #hasDependencies = false;

  constructor(input: SessionInput) {
    this.#input = input;
  }

  async render(call: CallContext): Promise<readonly ChartObject[]> {
    const { chart } = this.#install();
    const { extra } = this.#input;
    const { manifest = '', hooks = [] } = await this.#dryRun(call);
    const kinds = extra.includes('--skip-crds') ? '' : (await this.#run(['show', 'crds', chart], call, true)).output;
    const texts = [manifest, ...(extra.includes('--no-hooks') ? [] : hooks.map((hook) => hook.manifest ?? '')), kinds];
    return texts.flatMap((text) => parsed(() => objectsOf(text)));
  }

  async template(call: CallContext): Promise<readonly ChartObject[]> {
    await this.#fetchDependencies(call);
    const { run, extra, written } = this.#input;
    const words = ['template', run.release, this.#install().chart, '--namespace', run.namespace, ...written.valueArguments];
    const flags = ['--skip-crds', '--no-hooks'].filter((one) => extra.includes(one));
    const printed = await this.#run(
      [...words, ...(flags.includes('--skip-crds') ? [] : ['--include-crds']), ...flags],
      call,
      true,
    );
    return parsed(() => objectsOf(printed.output));
  }

  async diff({ isInstalled }: { readonly isInstalled: boolean }, call: CallContext): Promise<readonly string[]> {
    const { manifest = '' } = await this.#dryRun(call);
    const { release, namespace } = this.#input.run;
    const words = ['get', 'manifest', release, '--namespace', namespace];
    const former = isInstalled ? (await this.#run(words, call, true)).output : '';
    return parsed(() => manifestDiff(former, manifest));
  }

  async #dryRun(call: CallContext): Promise<PrintedRelease> {
    await this.#fetchDependencies(call);
    const { output } = await this.#run([...this.#upgradeWords(), '--dry-run=server', '--output', 'json'], call, true);
    return parsed(() => {
      const release: PrintedRelease = JSON.parse(output);
      return release;
    });
  }

  async upgrade(call: CallContext): Promise<void> {
    await this.#fetchDependencies(call);
    await this.#run([...this.#upgradeWords(), '--wait=watcher'], call);
  }

  async rollback(revision: number, { waits }: { readonly waits: boolean }, call: CallContext): Promise<void> {
    const { release } = this.#input.run;
    const words = ['rollback', release, String(revision), ...this.#location(), '--server-side=true', '--force-conflicts'];
    await this.#run(
      [...words, `--wait=${waits ? 'watcher' : 'hookOnly'}`, '--cleanup-on-fail', `--history-max=${keptRevisions}`],
      call,
    );
  }

  async uninstall(call: CallContext): Promise<void> {
    const { release } = this.#input.run;
    const words = ['uninstall', release, '--ignore-not-found', ...this.#location(), '--wait=watcher', '--cascade=foreground'];
    try {
      await this.#run(words, call);
    } catch (error) {
      if (call.signal.aborted || !(await this.#hasDeleteHooks(call))) throw error;
      call.log(`${messageOf(error)}. The chart has deletion hooks: trying again without them (--no-hooks).`);
      await this.#run([...words, '--no-hooks'], call);
    }
  }

  /**
   * Returns whether the release has delete hooks. Helm does not report that a failed hook was one of these. Without
   * this check a chart with a broken delete hook could never be uninstalled.
   */
  async #hasDeleteHooks(call: CallContext): Promise<boolean> {
    const { release, namespace } = this.#input.run;
    const words = ['get', 'hooks', release, '--namespace', namespace];
    const { output } = await this.#run(words, call, true).catch(() => ({ output: '' }));
    return /helm\.sh\/hook["']?:.*\b(?:pre|post)-delete\b/.test(output);
  }

  close(): Promise<void> {
    return rm(homeOf(this.#input.run), { recursive: true, force: true });
  }

  /** Fetches the dependencies once in a session: the files stay. */
  async #fetchDependencies(call: CallContext): Promise<void> {
    if (this.#hasDependencies) return;
    const { chart, root } = this.#install();
    const repositories = await dependencyRepositories(chart, root);
    if (repositories !== null) {
      await writeRepositories(join(homeOf(this.#input.run), 'repositories.yaml'), repositories);
      await this.#run(['dependency', 'build', chart], call);
    }
    this.#hasDependencies = true;
  }

  #upgradeWords(): string[] {
    const { run, extra, written } = this.#input;
    const { chart, labels } = this.#install();
    const labelled = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
    return [
      'upgrade',
      run.release,
      chart,
      '--install',
      ...this.#location(),
      '--labels',
      labelled.join(','),
      // Values of the chart override manual changes and the scaling of a stop by Davit.
      '--server-side=true',
      '--force-conflicts',
      // The chart writes the notes, which may show a password that it generated.
      '--hide-notes',
      ...(extra.some((one) => one.startsWith('--history-max=')) ? [] : [`--history-max=${keptRevisions}`]),
      ...extra,
      ...written.valueArguments,
    ];
  }

  #location(): string[] {
    const { namespace, timeoutSeconds } = this.#input.run;
    return ['--namespace', namespace, '--timeout', `${timeoutSeconds === 0 ? daySeconds : timeoutSeconds}s`];
  }

  #install(): HelmInstall {
    const { install } = this.#input.run;
    if (install === null) throw new Error('this run installs nothing');
    return install;
  }

  #run(words: readonly string[], call: CallContext, isSilent = false): Promise<CommandEnd> {
    const { program, run } = this.#input;
    return runHelm({ program, run, arguments: words, isSilent }, call);
  }
}

function parsed<Result>(parse: () => Result): Result {
  try {
    return parse();
  } catch (error) {
    // The parser's message quotes the text, which may contain secrets.
    const name = error instanceof Error ? error.name : 'unknown';
    throw new DriverError({ cause: 'HELM_CHART_INVALID', message: `the manifests of the chart cannot be parsed (${name})` });
  }
}
