import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useContext, useState, type ReactNode } from 'react';
import { api } from '../../api.ts';
import { useRefusal } from '../../data/rights.ts';
import { TreeContext, type EnvironmentNode } from '../../data/tree.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { ErrorNote, Face, FailedFace, LoadingRows } from '../../parts/face.tsx';
import { Ago, Cut } from '../../parts/page.tsx';
import { StateOf, Strip } from '../../parts/state.tsx';

/** The previews of pull requests in the project of an environment. */
export function PreviewsPage(): ReactNode {
  const { environmentId } = useParams({ strict: false });
  const tree = useContext(TreeContext);
  const project = tree.projects.find(({ environments }) => environments.some(({ id }) => id === environmentId));
  if (tree.error !== null) return <FailedFace error={tree.error} />;
  const previews = project?.environments.filter(({ mode }) => mode === 'PREVIEW') ?? [];
  return (
    <div className="box">
      {project === undefined && <LoadingRows />}
      {project !== undefined && previews.length === 0 && (
        <Face icon="box" title="No previews">
          A pull request against the branch of a service with previews gets a copy of its environment. Switch previews on in the
          settings of the service.
        </Face>
      )}
      {previews.length > 0 && (
        <table className="list">
          <thead>
            <tr>
              <th className="w-[38%]">Preview</th>
              <th className="w-[20%]">State</th>
              <th>Services</th>
              <th className="w-[14%]">Deployed</th>
              <th className="w-[96px]">
                <span className="sr-only">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {previews.map((preview) => (
              <PreviewRow key={preview.id} preview={preview} projectId={project?.id ?? ''} />
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

function PreviewRow({ preview, projectId }: { readonly preview: EnvironmentNode; readonly projectId: string }): ReactNode {
  const { id, name, state, services, deployedAt: at } = preview;
  const [isAsked, ask] = useState(false);
  const mayNot = useRefusal('editProject', { projectId });
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => api().call('deleteEnvironment', { params: { environmentId: id } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['overview'] }),
  });
  return (
    <tr>
      <td>
        <div className="name">
          <Link to="/environment/$environmentId" params={{ environmentId: id }} className="cut">
            <bdi>{name}</bdi>
          </Link>
        </div>
        <div className="under">
          <Cut text={`on ${preview.clusterName}`} />
        </div>
      </td>
      <td>
        <StateOf word={state} />
      </td>
      <td className="wide-only">
        <Strip services={services} />
      </td>
      <td className="wide-only nowrap">{at === null ? 'never' : <Ago at={at} />}</td>
      <td className="do text-right">
        <Button isSmall refusal={mayNot} onClick={() => ask(true)}>
          Delete<span className="sr-only"> {name}</span>
        </Button>
        <ErrorNote error={remove.error} />
        {isAsked && (
          <Confirm
            title={`Delete ${name}?`}
            verb="Delete"
            isDangerous
            onConfirm={() => remove.mutate()}
            onClose={() => ask(false)}
          >
            <p>
              The preview is deleted with its services and all their data. It returns when its pull request is closed and
              reopened.
            </p>
          </Confirm>
        )}
      </td>
    </tr>
  );
}
