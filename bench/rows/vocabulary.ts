import { operationList } from '../../packages/contract/src/index.ts';
import { Wordings } from '../../packages/server/src/http/wording.ts';
import { readVocabulary } from '../../packages/server/src/vocabulary/read.ts';
import type { Row } from '../row.ts';
import { toSeries } from '../statistics.ts';

const limitMicroseconds = 2;
const calls = 200_000;

const application = {
  id: 'a9f0a2c4-0000-4000-8000-000000000001',
  name: 'web',
  git_repository: { provider: 'HOSTA', url: 'https://git.example.org/shop/web.git', owner: 'shop', name: 'web', branch: 'main' },
  ports: [{ internal_port: 80, protocol: 'HTTP' }],
  ...Object.fromEntries(Array.from({ length: 30 }, (_none, index) => [`field_${index}`, index])),
};

export const vocabularyRow: Row = {
  name: 'vocabulary',
  about: 'the translation of an application, and of an answer without words of a vocabulary (docs/vocabulary.md)',
  run: async (location) => {
    const vocabulary = await readVocabulary({ basePath: '/v/public', file: null }, operationList);
    const wordings = new Wordings(vocabulary, operationList);
    const answerOf = (id: string): ((value: unknown) => unknown) => {
      const operation = operationList.find((one) => one.id === id);
      if (operation === undefined) throw new Error(`there is no operation ${id}`);
      const wording = wordings.of(operation);
      return (value) => wording.answer(value);
    };
    const measure = (what: string, answer: (value: unknown) => unknown) => {
      const rounds = Array.from({ length: location.rounds(7, 3) }, () => {
        const began = performance.now();
        for (let call = 0; call < calls; call += 1) answer(application);
        return ((performance.now() - began) / calls) * 1000;
      });
      const davit = toSeries(rounds);
      const isMet = davit.median <= limitMicroseconds;
      return { what, unit: 'µs', davit, floor: null, ratio: null, target: `≤ ${limitMicroseconds}`, isMet } as const;
    };
    return [
      measure('answer with a word of a vocabulary', answerOf('getApplication')),
      measure('answer without one', answerOf('getProject')),
    ];
  },
};
