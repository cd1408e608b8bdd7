import Type from 'typebox';
import { DateTime, Uuid } from '../shape.ts';

/* Shapes that the older versions of the histories share. */

export const oldHistoryEntry = {
  id: Uuid,
  created_at: DateTime,
  updated_at: Type.Optional(DateTime),
  name: Type.Optional(Type.String()),
};
export const oldHistoryQuery = Type.Partial(Type.Object({ startId: Uuid }));
export const oldHistoryPage = { page: Type.Integer(), page_size: Type.Integer() };
