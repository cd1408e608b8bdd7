import { execFileSync } from 'node:child_process';
import type { EngineConnection } from './connection.ts';
import { call, type EngineRequest } from './engine-api.ts';

export interface ImportedImage {
  /** Without a tag, for example `localhost/davit/address`. */
  readonly name: string;
  readonly tag: string;
  /** Tar archive of the image's files. */
  readonly archive: NonNullable<EngineRequest['archive']>;
}

/** Creates an image from files, under this name and tag. A repetition creates the same image again. */
export async function importImage(docker: EngineConnection, image: ImportedImage, signal: AbortSignal): Promise<void> {
  const { name, tag, archive } = image;
  const query = { fromSrc: '-', repo: name, tag };
  const { body } = await call(docker, { method: 'POST', path: '/images/create', query, archive, signal });
  const output = JSON.stringify(body);
  const id = /sha256:[0-9a-f]{64}/.exec(output)?.[0];
  if (id === undefined) throw new Error(`the container engine did not import the image ${name}: ${output}`);
  // Podman 4.3 ignores the tag and assigns its own, `latest`.
  await call(docker, { method: 'POST', path: `/images/${id}/tag`, query: { repo: name, tag }, signal });
  if (tag !== 'latest')
    await call(docker, { method: 'DELETE', path: `/images/${name}:latest`, query: { noprune: 'true' }, signal, accept: [404] });
}

/**
 * Returns the libraries of a program at the paths where its loader searches for them, with the loader itself. Empty for
 * a static program.
 */
export function sharedLibraries(program: string): string[] {
  let listed: string;
  try {
    listed = execFileSync('ldd', [program], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const words = error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
    if (/not a dynamic executable/.test(words)) return [];
    throw error;
  }
  return [...listed.matchAll(/(?:=> )?(\/\S+) \(0x/g)].flatMap(([, path]) => (path === undefined ? [] : [path]));
}
