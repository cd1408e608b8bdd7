import { randomBytes } from 'node:crypto';
import { accessSync, constants, watch } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pause } from '@davit/base';
import { canLimitGroups, killControlGroup, limitGroup, type CommandLimits } from '../../shared/control-group.ts';
import type { Dockerfile } from '../../shared/build/dockerfile.ts';
import { canReadKernelLog, wasKilledForMemory } from '../kernel-log.ts';

/**
 * Limits for the commands of a build with the BuildKit of Docker Engine.
 *
 * BuildKit takes no limits: the build endpoint ignores those of the classic builder, `cgroupparent` included. But each
 * command is a container with a control group of its own. Its folder below `executor` in the engine's data contains
 * `config.json`, with the environment and the name of the control group, before runc starts the container. So Davit
 * watches that folder during a build and writes the limits into the new groups. A limit applies to the processes that
 * exist as well as to later ones.
 *
 * A command is assigned to its build by a mark in NO_PROXY. Of all build arguments only those for proxies reach the
 * commands without a declaration, and without being part of the cache's keys or of the image.
 */
export interface LimitedCommands {
  /** Number of commands whose limits were set. */
  readonly count: number;
  /** Whether the kernel killed one of them for lack of memory; null: unknown. */
  wasKilledForMemory(): boolean | null;
  /** Kills all commands that still run: they outlive an engine that was stopped during the build. */
  kill(): Promise<void>;
  /** Stops watching. */
  end(): Promise<void>;
}

export interface LimitInput {
  /** Folder of the engine's data. */
  readonly dataFolder: string;
  readonly limits: CommandLimits;
  /**
   * Mark of the build. null: the Dockerfile uses NO_PROXY itself. Then the limits apply to all commands without a mark
   * that run meanwhile, also to those of builds that others started on the engine.
   */
  readonly mark: string | null;
}

const anyMark = /davit-build-[0-9a-f]{16}\.invalid/;

/** Returns the mark of a new build; null if its Dockerfile uses NO_PROXY itself. */
export function markFor(dockerfile: Dockerfile): string | null {
  const uses = dockerfile.instructions.some(
    ({ keyword, rest }) => (keyword === 'ARG' || keyword === 'ENV') && /(?:^|\s)no_proxy(?:[=\s]|$)/i.test(rest),
  );
  return uses ? null : `davit-build-${randomBytes(8).toString('hex')}.invalid`;
}

/**
 * Returns why this process cannot limit the commands of the engine's builds, as text; null if it can. `dataFolder`:
 * folder of the engine's data; null: on another machine.
 */
export function whyUnlimited(dataFolder: string | null): string | null {
  if (dataFolder === null) return 'the engine runs on another machine';
  try {
    accessSync(executorFolder(dataFolder), constants.R_OK);
  } catch {
    return `Davit may not read ${executorFolder(dataFolder)}`;
  }
  return canLimitGroups() ? null : 'Davit may not write control groups';
}

/** Sets the limits of the commands of a build from now on. */
export function limitCommands(input: LimitInput): LimitedCommands {
  const folder = executorFolder(input.dataFolder);
  const since = new Date().toISOString();
  const seen = new Set<string>();
  const limited = new Map<string, string>();
  const ending = new AbortController();
  const tasks = new Set<Promise<void>>();
  const look = (id: string): void => {
    if (seen.has(id) || !/^[a-z0-9]{25}$/.test(id)) return;
    seen.add(id);
    const task = limitCommand(id, input, ending.signal)
      .then((group) => void (group !== null && limited.set(id, group)))
      .finally(() => tasks.delete(task));
    tasks.add(task);
  };
  const watcher = watch(folder, (_event, name) => look(name ?? ''));
  watcher.on('error', () => undefined);
  return {
    get count() {
      return limited.size;
    },
    wasKilledForMemory: () => {
      if ([...limited.keys()].some((id) => wasKilledForMemory(id, since))) return true;
      return canReadKernelLog() ? false : null;
    },
    kill: async () => {
      for (let tries = 0; tries < 20; tries += 1) {
        for (const group of limited.values()) await killControlGroup(group);
        // A command that started just now may still be looked for.
        if (tasks.size === 0) return;
        await pause(50);
      }
    },
    end: async () => {
      watcher.close();
      ending.abort();
      await Promise.all(tasks);
    },
  };
}

function executorFolder(dataFolder: string): string {
  return join(dataFolder, 'buildkit', 'executor');
}

// A container that never starts has neither a configuration nor a group.
const startMilliseconds = 20_000;
const betweenMilliseconds = 2;

/** Sets the limits of a command. Returns its group; null if it belongs to another build or has ended before. */
async function limitCommand(id: string, { dataFolder, limits, mark }: LimitInput, signal: AbortSignal): Promise<string | null> {
  const folder = join(executorFolder(dataFolder), id);
  const deadline = Date.now() + startMilliseconds;
  let groups: readonly string[] | null = null;
  while (Date.now() < deadline && !signal.aborted) {
    if (groups === null) {
      const command = await readCommand(folder);
      if (command !== null) {
        const found = anyMark.exec(command.environment)?.[0] ?? null;
        if (found !== mark) return null;
        groups = groupsOf(command.group);
      }
    }
    const group = groups === null ? null : await limitGroup(groups, limits);
    if (group !== null) return group;
    if ((await readdir(folder).catch(() => null)) === null) return null;
    await pause(betweenMilliseconds);
  }
  return null;
}

interface Command {
  readonly environment: string;
  readonly group: string;
}

/** Returns null as long as the configuration is not written completely. */
async function readCommand(folder: string): Promise<Command | null> {
  interface Configuration {
    readonly process?: { readonly env?: readonly string[] };
    readonly linux?: { readonly cgroupsPath?: string };
  }
  try {
    const { process: started, linux }: Configuration = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8'));
    return { environment: (started?.env ?? []).join('\n'), group: linux?.cgroupsPath ?? '' };
  } catch {
    return null;
  }
}

/**
 * Returns the possible paths of a group. With the cgroup driver `cgroupfs`, the configuration contains the path. With
 * `systemd`, it contains slice, prefix and name; runc resolves these from the group of the engine or of its parent, or
 * by systemd. Pure.
 */
export function groupsOf(path: string): string[] {
  const [slice, prefix, name] = path.split(':');
  if (prefix === undefined || name === undefined) return [path];
  return [path, `${slice}/${prefix}-${name}.scope`, `${slice}/${path}`, `${slice}/docker.service/${path}`];
}
