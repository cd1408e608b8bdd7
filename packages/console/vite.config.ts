import { operationList, textTypeOf } from '@davit/contract';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/**
 * Replaces the contract by what the client reads of it at run time: paths, methods and media types. The schemas are for
 * the compiler and for the server; they would be half of the script.
 */
function slimContract(): Plugin {
  const operations = Object.fromEntries(
    operationList.map((operation) => {
      const { id, path, method, mediaType, answerType, response } = operation;
      const isText = textTypeOf(operation) !== undefined;
      return [id, { path, method, mediaType, answerType, response: isText && response !== null ? {} : undefined }];
    }),
  );
  const module = [
    `export const operations = ${JSON.stringify(operations)};`,
    'export const textTypeOf = ({ answerType, mediaType }) => answerType ?? mediaType;',
  ];
  return {
    name: 'slim-contract',
    enforce: 'pre',
    resolveId: (id) => (id === '@davit/contract' ? '\0slim-contract' : null),
    load: (id) => (id === '\0slim-contract' ? module.join('\n') : null),
  };
}

export default defineConfig({
  base: '/console/',
  plugins: [slimContract(), react(), tailwindcss()],
  // The page's security policy allows no data addresses.
  build: { target: 'es2022', assetsInlineLimit: 0, reportCompressedSize: false },
});
