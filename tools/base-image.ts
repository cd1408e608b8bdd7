import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { Readable } from 'node:stream';
import { openDockerEngine, type DockerEngine } from '@davit/drivers';
import { pack, type Pack } from 'tar-stream';

/*
 * A base image that needs no registry. It contains the Node.js that runs this program and the libraries of Node.js, and
 * nothing else. It has no shell, so commands are in exec form, for example `CMD ["node", "server.js"]`.
 */

const baseImage = 'davit-base/node:24';

/**
 * Builds the image on the engine that Davit uses, unless the engine already has the image for this version of Node.js.
 * Returns whether it was built.
 */
export async function ensureBaseImage(stateFolder: string): Promise<boolean> {
  const { docker } = await openDockerEngine({ stateFolder });
  const [repository = ''] = baseImage.split(':');
  const exact = `${repository}:${process.versions.node}`;
  const isThere = (await idOf(docker, exact)) !== undefined;
  if (!isThere) await importImage(docker, imageArchive(), exact);
  if ((await idOf(docker, baseImage)) !== (await idOf(docker, exact))) {
    await docker.getImage(exact).tag({ repo: repository, tag: '24' });
  }
  return !isThere;
}

function imageArchive(): Pack {
  const archive = pack();
  archive.entry({ name: 'usr/local/bin/node', mode: 0o755 }, readFileSync(process.execPath));
  for (const file of sharedLibraries(process.execPath)) {
    archive.entry({ name: file.slice(1), mode: 0o755 }, readFileSync(realpathSync(file)));
  }
  // Node.js works without these certificates, as it has its own list; other programs that are copied into the image
  // need them.
  const certificates = '/etc/ssl/certs/ca-certificates.crt';
  if (existsSync(certificates)) archive.entry({ name: certificates.slice(1), mode: 0o644 }, readFileSync(certificates));
  archive.entry({ name: 'etc/passwd', mode: 0o644 }, 'root:x:0:0:root:/root:/bin/sh\nnode:x:1000:1000:node:/tmp:/bin/sh\n');
  archive.entry({ name: 'etc/group', mode: 0o644 }, 'root:x:0:\nnode:x:1000:\n');
  archive.entry({ name: 'tmp', type: 'directory', mode: 0o1777 });
  archive.finalize();
  return archive;
}

/** Returns the libraries of a program at the paths where its loader searches for them. */
function sharedLibraries(program: string): string[] {
  const listed = execFileSync('ldd', [program], { encoding: 'utf8' });
  return [...listed.matchAll(/(?:=> )?(\/\S+) \(0x/g)].flatMap(([, file]) => (file === undefined ? [] : [file]));
}

type Docker = DockerEngine['docker'];

async function idOf(docker: Docker, reference: string): Promise<string | undefined> {
  try {
    return (await docker.getImage(reference).inspect()).Id;
  } catch (error) {
    if (error instanceof Error && 'statusCode' in error && error.statusCode === 404) return undefined;
    throw error;
  }
}

async function importImage(docker: Docker, archive: Pack, reference: string): Promise<void> {
  const [repo = '', tag = ''] = reference.split(':');
  const said = await outputOf(docker, archive, { repo, tag });
  const id = /sha256:[0-9a-f]{64}/.exec(said)?.[0];
  if (id === undefined) throw new Error(`the container engine did not import the base image: ${said.trim()}`);
  // Podman 4.3 ignores the tag and assigns its own.
  await docker.getImage(id).tag({ repo, tag });
  if ((await idOf(docker, `${repo}:latest`)) !== undefined) await docker.getImage(`${repo}:latest`).remove();
}

// Uses the callback, as dockerode's types have the response stream only there.
function outputOf(docker: Docker, archive: Pack, options: { readonly repo: string; readonly tag: string }): Promise<string> {
  return new Promise((resolve, reject) => {
    docker.importImage(Readable.from(archive), options, (error: unknown, answer?: NodeJS.ReadableStream) => {
      if (!answer) return reject(error instanceof Error ? error : new Error(String(error)));
      let said = '';
      answer.on('data', (chunk: Buffer) => (said += chunk.toString()));
      answer.once('end', () => resolve(said));
      answer.once('error', reject);
    });
  });
}
