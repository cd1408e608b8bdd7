import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, Named, Nullable, Optionals, Uuid, Words } from '../shape.ts';
import { logLevels } from '../shared/words.ts';
import { Log } from './parts.ts';

const Line = Named(
  'ServiceLogLine',
  Type.Object({
    ...Log.properties,
    stream: about('`stdout` or `stderr`.', Type.String({ description: 'stdout or stderr' })),
    level: about('How severe it is; null: the line says nothing of it.', Nullable(Words(logLevels))),
  }),
  'A line that an instance printed.',
);
const Cursor = Type.String({ pattern: '^[0-9]{1,15}$' });
const Pattern = Type.String({ minLength: 1, maxLength: 1000 });

/** Lines of a log that meet conditions. */
export const LogPage = Named(
  'ServiceLogPage',
  Type.Object({
    lines: about(
      'The lines, oldest first.',
      Type.Array(
        Named(
          'FoundServiceLogLine',
          Type.Object({
            ...Line.properties,
            before: about(
              'The lines before it, as many as `context`.',
              Type.Array(Line, { description: 'The lines before it, as many as `context`' }),
            ),
            after: about('The lines after it, as many as `context`.', Type.Array(Line)),
          }),
          'A line, with those around it.',
        ),
        { description: 'Oldest first' },
      ),
    ),
    older: about(
      '`before` of the next page; null: nothing is older. An empty page may still have it.',
      Nullable(
        Type.String({
          description: '`before` of the next page; null: there is nothing older. A page may be empty and not the last',
        }),
      ),
    ),
    newer: about(
      '`after` of the page that follows; null: nothing was found.',
      Nullable(Type.String({ description: '`after` of the page that follows this one; null: nothing was found' })),
    ),
  }),
  'A page of the lines that meet the conditions.',
);

export const searchServiceLog = operation({
  id: 'searchServiceLog',
  method: 'GET',
  path: '/service/{serviceId}/log',
  tag: 'Service log',
  summary: 'Search the log of a service',
  description: `
    Searches all kept lines of the service, of removed instances too, by pages from the newest on. A page ends after
    five seconds with what it found, so it may be empty although \`older\` leads on. With \`line\` it returns the lines
    around that line; 404 if it is no longer kept.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`EXPRESSION_TOO_SLOW\` (400) | The expression takes too long. | Avoid nested repetitions, or search for a \`text\`. |
    | \`TOO_MANY_SEARCHES\` (429) | Too many searches run or wait. | Try again in some seconds. |
  `,
  scope: 'READ',
  target: 'service',
  query: Optionals({
    text: about('Text that the message contains.', Type.String({ ...Pattern, description: 'Occurs in the message' })),
    expression: about(
      'A regular expression of JavaScript; `text` is then ignored.',
      Type.String({ ...Pattern, description: 'A regular expression of JavaScript; `text` is then ignored' }),
    ),
    match_case: about('Whether upper and lower case differ.', Type.Boolean({ default: false })),
    from: about('Lines from this time on.', DateTime),
    to: about('Lines before this time.', DateTime),
    instance: about('Lines of one instance, as in `pod_name`.', Type.String({ maxLength: 255, description: 'As in `pod_name`' })),
    release_id: about('Lines of one release, as in `version`.', Uuid),
    level: about('Lines that are at least so severe.', Words(logLevels, { description: 'The least severe level' })),
    context: about(
      'How many lines to add before and after each.',
      Type.Integer({ minimum: 0, maximum: 50, default: 0, description: 'Lines before and after each line' }),
    ),
    before: about('`older` of the page before.', Type.Unsafe<string>({ ...Cursor, description: '`older` of the page before' })),
    after: about(
      '`newer` of the page before: the lines after it, oldest first.',
      Type.Unsafe<string>({ ...Cursor, description: '`newer` of the page before: the lines after it, oldest first' }),
    ),
    line: about(
      'The `id` of a line; conditions are then ignored.',
      Type.Unsafe<string>({ ...Uuid, description: 'Id of a line; conditions are then ignored' }),
    ),
    limit: about('The most lines of a page.', Type.Integer({ minimum: 1, maximum: 1000, default: 100 })),
  }),
  status: 200,
  response: LogPage,
  errors: [400],
});
