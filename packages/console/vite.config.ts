import { slimContract } from '@davit/contract/slim';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  base: '/console/',
  plugins: [slimContract(), react(), tailwindcss()],
  build: {
    target: 'es2022',
    // The page's security policy allows no data addresses.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      input: { index: 'index.html', reference: 'src/reference/main.ts' },
      // The server makes the pages of the reference, and refers to their script and style by these names.
      output: {
        entryFileNames: ({ name }) => (name === 'reference' ? 'reference.js' : 'assets/[name]-[hash].js'),
        assetFileNames: ({ names }) => (names.includes('reference.css') ? 'reference.css' : 'assets/[name]-[hash][extname]'),
      },
    },
  },
});
