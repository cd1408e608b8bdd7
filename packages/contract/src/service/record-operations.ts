import Type, { type TSchema } from 'typebox';
import { operation } from '../operation.ts';
import { about, List, Name, Named, Uuid } from '../shape.ts';
import * as effects from './kind-words.ts';
import type { Kind } from './kinds.ts';

/*
 * Operations on the records of services, which all kinds share: create, read, edit, delete, clone.
 * Each function returns the operations of one kind of service, keyed by their role. `operations.ts` lists them by id,
 * with all other operations. The callers of these functions decide which kind has which operations.
 */

const target = 'service' as const;

/** Returns the operations create, read, list, edit and delete. */
export function recordOperations<const K extends Kind, Shape extends TSchema, New extends TSchema, Edit extends TSchema>(
  kind: K,
  { record, create, edit }: { readonly record: Shape; readonly create: New; readonly edit: Edit },
) {
  const all = `/environment/{environmentId}/${kind.noun as K['noun']}` as const;
  const at = `/${kind.noun as K['noun']}/{${kind.noun as K['noun']}Id}` as const;
  const tag = kind.Noun;
  return {
    list: operation({
      id: `list${kind.Nouns as K['Nouns']}`,
      method: 'GET',
      path: all,
      tag,
      summary: `List the ${kind.many} of an environment`,
      description: `
        Returns the ${kind.many} of the environment with their configuration, oldest first. Their statuses are read
        separately, for all of them at once.
      `,
      scope: 'READ',
      target: 'environment',
      query: Type.Partial(
        Type.Object({
          toUpdate: about(
            'Only those that are OUT_OF_DATE; those that were never deployed are left out.',
            Type.Boolean({ default: false }),
          ),
        }),
      ),
      status: 200,
      response: List(record),
      errors: [400],
    }),
    create: operation({
      id: `create${kind.Noun as K['Noun']}`,
      method: 'POST',
      path: all,
      tag,
      summary: `Create ${kind.one}`,
      description: `
        Creates ${kind.one} in the environment. Nothing runs yet: ${effects.nextStep(kind)}. The service joins the
        default deployment stage of its type. Fields that you leave out get their defaults.${effects.provides(kind)}

        | Code | Cause | Remedy |
        |---|---|---|
        | \`NAME_TAKEN\` (409) | A service of the environment has this name; case does not matter. | Choose another name. |
        | \`INVALID_REFERENCE\` (400) | An id in the body names nothing of this organization. | Correct the id. |${effects.portRow(kind)}
      `,
      scope: 'WRITE',
      target: 'environment',
      body: create,
      status: 201,
      response: record,
      errors: [400, 409],
    }),
    read: operation({
      id: `get${kind.Noun as K['Noun']}`,
      method: 'GET',
      path: at,
      tag,
      summary: `Read ${kind.one}`,
      description: `
        Returns the configuration as it was last edited, deployed or not. Send the header \`ETag\` as \`If-Match\` with
        an edit to detect a change in between.
      `,
      scope: 'READ',
      target,
      status: 200,
      response: record,
      errors: [],
    }),
    edit: operation({
      id: `edit${kind.Noun as K['Noun']}`,
      method: 'PUT',
      path: at,
      tag,
      summary: `Edit ${kind.one}`,
      description: `
        Changes the fields that the request has; the others stay, and lists are replaced as a whole. Running
        instances do not change: the service is OUT_OF_DATE until you deploy it.

        | Code | Cause | Remedy |
        |---|---|---|
        | \`NAME_TAKEN\` (409) | A service of the environment has this name; case does not matter. | Choose another name. |
        | \`BEING_DELETED\` (409) | The service is being deleted. | Wait until it is gone. |${effects.portRow(kind)}
      `,
      scope: 'WRITE',
      target,
      body: edit,
      status: 200,
      response: record,
      errors: [400, 409],
    }),
    delete: operation({
      id: `delete${kind.Noun as K['Noun']}`,
      method: 'DELETE',
      path: at,
      tag,
      summary: `Delete ${kind.one}`,
      description: `
        ${effects.deletion[kind.type]} This cannot be undone. What was deployed
        is removed by a deployment: the service is DELETING until then, and the record is gone afterwards. A repetition
        changes nothing.
      `,
      scope: 'WRITE',
      target,
      status: 204,
      response: null,
      errors: [409],
    }),
  };
}

/** Returns the operation clone. `record`: the shape of the kind's records. */
export function cloneOperations<const K extends Kind, Shape extends TSchema>(kind: K, record: Shape) {
  return {
    clone: operation({
      id: `clone${kind.Noun as K['Noun']}`,
      event: 'CLONE',
      method: 'POST',
      path: `/${kind.noun as K['noun']}/{${kind.noun as K['noun']}Id}/clone`,
      tag: kind.Noun,
      summary: `Clone ${kind.one}`,
      description: `
        Copies the service with its variables, secrets, settings and restrictions into an environment of the
        organization. Data and custom domains are not copied, taken public ports become the next free ones, and nothing
        is deployed.

        | Code | Cause | Remedy |
        |---|---|---|
        | \`NAME_TAKEN\` (409) | A service of that environment has this name; case does not matter. | Choose another name. |
      `,
      scope: 'WRITE',
      target,
      body: Named(
        'ServiceCloneRequest',
        Type.Object({
          name: about('The name of the copy, free in its environment.', Name),
          environment_id: about('The environment of the copy; it may be the same one.', Uuid),
        }),
        'Where to put the copy.',
      ),
      status: 202,
      response: record,
      errors: [400, 409],
    }),
  };
}
