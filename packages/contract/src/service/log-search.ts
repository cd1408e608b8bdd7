import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, Named, Nullable, Optionals, Uuid, Words } from '../shape.ts';
import { logLevels } from '../shared/words.ts';
import { Log } from './parts.ts';

const Line = Named(
  'ServiceLogLine',
  Type.Object({
    ...Log.properties,
    stream: Type.String({ description: 'stdout or stderr' }),
    level: Nullable(Words(logLevels)),
  }),
);
const Cursor = Type.String({ pattern: '^[0-9]{1,15}$' });
const Pattern = Type.String({ minLength: 1, maxLength: 1000 });

/** Lines of a log that meet conditions. */
export const LogPage = Named(
  'ServiceLogPage',
  Type.Object({
    lines: Type.Array(
      Named(
        'FoundServiceLogLine',
        Type.Object({
          ...Line.properties,
          before: Type.Array(Line, { description: 'The lines before it, as many as `context`' }),
          after: Type.Array(Line),
        }),
      ),
      { description: 'Oldest first' },
    ),
    older: Nullable(
      Type.String({
        description: '`before` of the next page; null: there is nothing older. A page may be empty and not the last',
      }),
    ),
    newer: Nullable(Type.String({ description: '`after` of the page that follows this one; null: nothing was found' })),
  }),
);

export const searchServiceLog = operation({
  id: 'searchServiceLog',
  method: 'GET',
  path: '/service/{serviceId}/log',
  tag: 'Service log',
  summary: 'Search in all kept lines of a service, by pages from the newest on; or read the lines around one `line`',
  scope: 'READ',
  target: 'service',
  query: Optionals({
    text: Type.String({ ...Pattern, description: 'Occurs in the message' }),
    expression: Type.String({ ...Pattern, description: 'A regular expression of JavaScript; `text` is then ignored' }),
    match_case: Type.Boolean({ default: false }),
    from: DateTime,
    to: DateTime,
    instance: Type.String({ maxLength: 255, description: 'As in `pod_name`' }),
    release_id: Uuid,
    level: Words(logLevels, { description: 'The least severe level' }),
    context: Type.Integer({ minimum: 0, maximum: 50, default: 0, description: 'Lines before and after each line' }),
    before: Type.Unsafe<string>({ ...Cursor, description: '`older` of the page before' }),
    after: Type.Unsafe<string>({ ...Cursor, description: '`newer` of the page before: the lines after it, oldest first' }),
    line: Type.Unsafe<string>({ ...Uuid, description: 'Id of a line; conditions are then ignored' }),
    limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100 }),
  }),
  status: 200,
  response: LogPage,
  errors: [400],
});
