import { slimContract } from '@davit/contract/slim';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  base: '/console/',
  plugins: [slimContract(), react(), tailwindcss()],
  // The page's security policy allows no data addresses.
  build: { target: 'es2022', assetsInlineLimit: 0, reportCompressedSize: false },
});
