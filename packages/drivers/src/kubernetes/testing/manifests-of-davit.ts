import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { dump, loadAll } from 'js-yaml';

/* Davit's own manifests and chart, in deploy/. */

const deployFolder = fileURLToPath(new URL('../../../../../deploy', import.meta.url));
export const chartFolder = join(deployFolder, 'chart/davit');
export const manifestsFolder = join(deployFolder, 'kubernetes');

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly rules?: readonly unknown[];
  /** The status that a cluster writes. */
  readonly status?: unknown;
}

export function parseManifests(text: string): Manifest[] {
  const documents = loadAll(text).filter((document) => document !== null && document !== undefined);
  return documents as unknown as Manifest[]; // oxlint-disable-line typescript/no-unsafe-type-assertion -- schemas judge them
}

/** Returns the manifests of a folder, without the instructions for kustomize. */
export function readManifests(folder: string): Manifest[] {
  const files = readdirSync(join(manifestsFolder, folder)).filter(
    (file) => file.endsWith('.yaml') && file !== 'kustomization.yaml',
  );
  return files.flatMap((file) => parseManifests(readFileSync(join(manifestsFolder, folder, file), 'utf8')));
}

/**
 * Returns the output of `helm template` for the chart, in the namespace `davit`. Throws with Helm's message if Helm
 * refuses.
 */
export function renderChart(helm: string, values: object = {}): Manifest[] {
  const args = ['template', 'davit', chartFolder, '--namespace', 'davit', '--values', '-'];
  const text = execFileSync(helm, args, { input: JSON.stringify(values), encoding: 'utf8', stdio: 'pipe' });
  return parseManifests(text);
}

/** Returns a manifest for users without Helm: without the parts that only Helm uses. */
export function withoutHelm(manifest: Manifest): Manifest {
  const { labels = {}, annotations = {} } = manifest.metadata;
  const own = (all: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(all).filter(([name]) => !name.startsWith('helm.sh/') && name !== 'app.kubernetes.io/managed-by'),
    );
  const kept = own(annotations);
  const { annotations: _, ...metadata } = manifest.metadata;
  return {
    ...manifest,
    metadata: { ...metadata, labels: own(labels), ...(Object.keys(kept).length > 0 && { annotations: kept }) },
  };
}

/** Formats manifests as a file that people read and apply. */
export function toFile(manifests: readonly Manifest[], about: string): string {
  const texts = manifests.map((manifest) => dump(manifest, { flowLevel: 7, lineWidth: 130, noRefs: true }));
  return `# ${about}\n${texts.join('---\n')}`;
}
