import Type from 'typebox';
import { about, DateTime, Named } from '../shape.ts';

export const Commit = Named(
  'Commit',
  Type.Object({
    created_at: about('When it was committed.', DateTime),
    git_commit_id: about('The full hash of the commit.', Type.String()),
    tag: about('The tag of the commit; empty if it has none.', Type.String()),
    message: about('The message of the commit.', Type.String()),
    author_name: about('The name of its author.', Type.String()),
    author_avatar_url: Type.Optional(about('The picture of its author, if the host has one.', Type.String())),
    commit_page_url: Type.Optional(about('Its page at the git host, if that is known.', Type.String())),
  }),
  'A commit of a git repository.',
);
