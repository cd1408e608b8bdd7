import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';

/** The oldest Node.js that the program runs on. */
const engines = { node: '>=22.7' };

const readme = `# davit

The command line of Davit, the self-hosted deployment platform. Sign in to your server first:

    davit login https://davit.example.org
    davit --help
`;

/**
 * Returns the program as a package that npm installs: a gzipped tar archive with `package.json`, the program and a README.
 * The same program and version give the same bytes.
 */
export async function commandLinePackage(program: string, version: string): Promise<Buffer> {
  const description = {
    name: 'davit',
    version,
    description: 'The command line of Davit, the self-hosted deployment platform',
    license: 'Apache-2.0',
    type: 'module',
    bin: { davit: 'davit.mjs' },
    engines,
  };
  const archive = pack();
  // npm expects all files in a folder of this name. A time before 1985 would be refused by tools that also write zip files.
  const header = (name: string, mode: number) => ({ name: `package/${name}`, mode, mtime: new Date('2026-01-01T00:00:00Z') });
  archive.entry(header('package.json', 0o644), `${JSON.stringify(description, null, 2)}\n`);
  archive.entry(header('README.md', 0o644), readme);
  archive.entry(header('davit.mjs', 0o755), program);
  archive.finalize();
  return gzipSync(await buffer(archive));
}
