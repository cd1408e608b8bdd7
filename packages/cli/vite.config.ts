import { readFileSync } from 'node:fs';
import { slimContract } from '@davit/contract/slim';
import { defineConfig } from 'vite';

const { version }: { version: string } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));

/** Builds the one file of the command line, dist/davit.mjs. It needs Node.js and nothing else. */
export default defineConfig({
  plugins: [slimContract({ withWords: true })],
  define: { DAVIT_VERSION: JSON.stringify(version) },
  ssr: { noExternal: true },
  build: {
    ssr: 'src/main.ts',
    target: 'node20',
    minify: true,
    reportCompressedSize: false,
    rolldownOptions: { output: { entryFileNames: 'davit.mjs', codeSplitting: false } },
  },
});
