import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { cliPage, cliPageFile } from './cli-page.ts';
import { generated, generatedFolder } from './generated.ts';

/**
 * Writes the generated files. With `--check` it only reports the stale files and returns exit code 1 if there are any.
 */
async function generate(isCheck: boolean): Promise<number> {
  let stale = 0;
  await mkdir(generatedFolder, { recursive: true });
  const ofContract = [...(await generated())].map(([name, text]) => [path.join(generatedFolder, name), text] as const);
  for (const [file, text] of [...ofContract, [cliPageFile, await cliPage()] as const]) {
    const found = await readFile(file, 'utf8').catch(() => '');
    if (found === text) continue;
    stale += 1;
    if (isCheck) process.stderr.write(`${file} is stale: run npm run generate\n`);
    else await writeFile(file, text);
  }
  return isCheck && stale > 0 ? 1 : 0;
}

process.exitCode = await generate(process.argv.includes('--check'));
