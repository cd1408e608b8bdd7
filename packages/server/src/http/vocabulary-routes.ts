import { openApi, operationList, type Operation } from '@davit/contract';
import type { Example } from '@davit/contract/examples';
import type { FastifyInstance } from 'fastify';
import type { Vocabulary } from '../vocabulary/vocabulary.ts';
import type { HttpContext } from './context.ts';
import { addExamples, type ExampleWords } from './examples.ts';
import { setLimitHeaders } from './limit.ts';
import { addOperation } from './route.ts';
import { staticText } from './static-text.ts';
import { Wordings, type Wording } from './wording.ts';

/** Adds all operations in the words of a vocabulary under its base path, and their description. */
export function addVocabulary(app: FastifyInstance, context: HttpContext, vocabulary: Vocabulary): void {
  const wordings = new Wordings(vocabulary, operationList);
  for (const mounted of context.options.mounted) addOperation(app, context, mounted, wordings.of(mounted.operation));
  const { version } = context.options;
  const document = staticText('application/json; charset=utf-8', async () => {
    const { exampleOf } = await import('@davit/contract/examples');
    return JSON.stringify({ ...documentIn(wordings, version, exampleOf), servers: [{ url: vocabulary.basePath }] });
  });
  app.get(`${vocabulary.basePath}/openapi.json`, (request, reply) => {
    setLimitHeaders(context, reply, context.limiter.peek(request.ip));
    return document.send(request, reply.header('x-content-type-options', 'nosniff'));
  });
  const words = (operation: Operation) => exampleWords(wordings.of(operation));
  addExamples(app, context, operationList, { basePath: vocabulary.basePath, words });
}

/** Returns the description of the API in the words of a vocabulary, without the base path. */
export function documentIn(wordings: Wordings, version: string, exampleOf: (id: string) => Example | undefined): object {
  const operations = wordings.operations();
  const contractOf = new Map(operations.map(({ id }, index) => [id, operationList[index]]));
  const requestOf = (id: string): unknown => {
    const operation = contractOf.get(id);
    const request = operation === undefined ? undefined : exampleOf(operation.id)?.request;
    return operation === undefined || request === undefined ? undefined : wordings.of(operation).example(request);
  };
  return openApi(operations, version, { requestOf });
}

function exampleWords(wording: Wording): ExampleWords {
  const events = wording.events();
  const event = (text: string, name: string, data: string): string => {
    const translate = events.get(name);
    return translate === undefined ? text : `event: ${name}\ndata: ${JSON.stringify(translate(JSON.parse(data)))}`;
  };
  return {
    request: (body) => wording.example(body),
    // The answer of a stream is the text of its events.
    answer: (body) =>
      typeof body === 'string' && events.size > 0 ? body.replaceAll(/^event: (\S+)\ndata: (.+)$/gm, event) : wording.answer(body),
  };
}
