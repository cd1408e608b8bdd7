import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { helpOfCommands } from '@davit/cli';

/** The page of the command line. The part before the mark is written by hand. */
export const cliPageFile = path.join(import.meta.dirname, '../docs/cli.md');
const mark = '<!-- From here on written by `npm run generate` from the declarations in packages/cli. -->\n';

/** Returns the page with the help of all commands, from the same declarations that `--help` shows. */
export async function cliPage(): Promise<string> {
  const page = await readFile(cliPageFile, 'utf8');
  const end = page.indexOf(mark);
  if (end === -1) throw new Error(`${cliPageFile} lacks the line ${mark}`);
  const commands = [...helpOfCommands()].map(([route, help]) => `\n### ${route}\n\n\`\`\`text\n${help}\n\`\`\`\n`);
  return page.slice(0, end) + mark + commands.join('');
}
