import { origins } from '@davit/contract';
import { translationOf } from '../../vocabulary/translation.ts';
import type { Vocabulary } from '../../vocabulary/vocabulary.ts';
import type { WebhookWords } from './deliverer.ts';

/** The fields of an event that have values of the contract's enumerations. */
const eventSchema = { properties: { payload: { properties: { origin: { enum: origins } } } } };

/** Returns the translation of deliveries into the words of a vocabulary. */
export function webhookWords(vocabulary: Vocabulary): WebhookWords {
  const translate = translationOf(eventSchema, vocabulary, 'answer');
  const names = new Map(vocabulary.headers.map(({ client, contract }) => [contract, client]));
  return {
    basePath: vocabulary.basePath,
    body: (body) => (translate === null ? body : translate(body)),
    headers: (headers) => Object.fromEntries(Object.entries(headers).map(([name, value]) => [names.get(name) ?? name, value])),
  };
}
