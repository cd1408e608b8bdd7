import { useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useRefusal } from '../../data/rights.ts';
import { send, textOf } from '../../data/send.ts';
import { filled } from '../../parts/values.ts';
import { callOf } from '../../command-line.ts';
import { EntryForm } from '../../parts/entry-form.tsx';
import { Head } from '../../parts/page.tsx';
import type { Json } from '../../data/paths.ts';
import { projectEntries } from './entries.ts';

/** Creates a project, and goes on with its first environment. */
export function NewProjectPage(): ReactNode {
  const { organizationId = '' } = useParams({ strict: false });
  const refusal = useRefusal('createProject', { organizationId });
  const queries = useQueryClient();
  const navigate = useNavigate();
  const create = async (values: Json): Promise<void> => {
    const projectId = textOf(await send('createProject', { organizationId }, filled(values)), 'id');
    void queries.invalidateQueries({ queryKey: ['projects', organizationId] });
    await navigate({ to: '/project/$projectId', params: { projectId } });
  };
  return (
    <>
      <Head title="New project" facts={<span>A product with its environments: production, staging, previews.</span>} />
      <div className="box form-box">
        <EntryForm
          entries={() => projectEntries}
          verb="Create project"
          refusal={refusal}
          onSubmit={create}
          guide={(values) => ({
            steps: {
              title: 'What happens next',
              lines: [
                'The project is empty. Nothing runs yet.',
                'Add an environment to it, as production or staging, on a cluster of the organization.',
                'Add services to the environment, then deploy it.',
              ],
            },
            command: callOf('createProject', { organizationId }, filled(values)),
          })}
        />
      </div>
    </>
  );
}
