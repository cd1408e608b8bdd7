import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { HelmInstall, HelmRun } from '../helm-driver.ts';
import { homeOf } from './command.ts';
import { replacedInYaml } from './macro.ts';
import { toOverlay } from './settings.ts';

/** The files written for a run. */
export interface WrittenRun {
  /** Arguments `--values …` and similar, in order. */
  readonly valueArguments: readonly string[];
}

/** Writes the files that Helm reads, readable by nobody else. Fails with HELM_VALUES_INVALID. */
export async function writeRun(run: HelmRun): Promise<WrittenRun> {
  const home = homeOf(run);
  // An earlier run may have been killed while it wrote.
  await rm(home, { recursive: true, force: true });
  for (const name of ['home', 'tmp', 'cache', 'config', 'data', 'values'])
    await mkdir(join(home, name), { recursive: true, mode: 0o700 });
  await write(join(home, 'kubeconfig'), run.kubeconfig.reveal());
  return { valueArguments: run.install === null ? [] : await writeValues(join(home, 'values'), run.install) };
}

async function writeValues(folder: string, { values, variables }: HelmInstall): Promise<string[]> {
  const made: string[] = [];
  for (const [index, { name, content }] of values.files.entries()) {
    made.push('--values', await write(join(folder, `${index}.yaml`), replacedInYaml(content, variables, name)));
  }
  const { file, texts, words } = toOverlay(values, variables);
  if (file !== null) made.push('--values', await write(join(folder, 'settings.yaml'), file));
  for (const [index, [name, text]] of texts.entries()) {
    const path = await write(join(folder, `text-${index}`), text);
    // In Helm a comma ends the path.
    made.push('--set-file', `${name}=${path.replaceAll(/[\\,]/g, String.raw`\$&`)}`);
  }
  return [...made, ...words];
}

async function write(path: string, content: string): Promise<string> {
  await writeFile(path, content, { mode: 0o600 });
  return path;
}
