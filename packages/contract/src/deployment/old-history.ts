import Type from 'typebox';
import { about, DateTime, Uuid } from '../shape.ts';

/* Shapes that the older versions of the histories share. */

export const oldHistoryEntry = {
  id: about('Identifies the deployment.', Uuid),
  created_at: about('When it was requested.', DateTime),
  updated_at: Type.Optional(about('When it was last changed.', DateTime)),
  name: Type.Optional(about('The name of the service.', Type.String())),
};
export const oldHistoryQuery = Type.Partial(
  Type.Object({ startId: about('The `id` of the last record that was read; older ones are returned.', Uuid) }),
);
export const oldHistoryPage = {
  page: about('The number of this page, from 1.', Type.Integer()),
  page_size: about('How many records a page has.', Type.Integer()),
};
