import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { api } from '../../api.ts';
import { usersOf, type Credentials } from '../../data/database.ts';
import { editRefusalIn } from '../../data/rights.ts';
import { Button } from '../../parts/button.tsx';
import { Copyable } from '../../parts/copy.tsx';
import { ErrorNote, FailedFace, LoadingRows } from '../../parts/face.tsx';
import { Box, Cut } from '../../parts/page.tsx';
import type { Service } from '../../words.ts';
import { useService } from '../service.tsx';

/** How to reach a database, and who does. */
export function ConnectionPage(): ReactNode {
  const { service } = useService();
  if (service === undefined || service.service_type !== 'DATABASE') {
    return (
      <div className="box">
        <LoadingRows />
      </div>
    );
  }
  return (
    <>
      <Address database={service} />
      <Users database={service} />
    </>
  );
}

type Database = Extract<Service, { readonly service_type: 'DATABASE' }>;

const schemes: Readonly<Record<Database['type'], string>> = {
  POSTGRESQL: 'postgresql',
  MYSQL: 'mysql',
  MONGODB: 'mongodb',
  REDIS: 'redis',
};

function urlOf({ type }: Database, { host, port, login, password }: Credentials): string {
  return `${schemes[type]}://${encodeURIComponent(login)}:${encodeURIComponent(password)}@${host}:${port}/`;
}

function Address({ database }: { readonly database: Database }): ReactNode {
  const mayNot = useQuery(editRefusalIn(database.environment.id)).data ?? null;
  // Credentials are read when they are asked for, and kept only while this page shows them.
  const [shown, show] = useState<Credentials | null>(null);
  const read = useMutation({
    mutationFn: () => api().call('getDatabaseMasterCredentials', { params: { databaseId: database.id } }),
    onSuccess: show,
    gcTime: 0,
  });
  const reach =
    database.accessibility === 'PUBLIC' ? 'everybody who knows address and password' : 'the services of its environment';
  return (
    <Box
      title="Address"
      more={
        shown === null ? (
          <Button isSmall refusal={mayNot} onClick={() => read.mutate()}>
            Show the password
          </Button>
        ) : (
          <Button isSmall onClick={() => show(null)}>
            Hide the password
          </Button>
        )
      }
    >
      <dl className="definitions">
        <dt>Reachable by</dt>
        <dd>{reach}</dd>
        <dt>Host</dt>
        <dd>
          {database.host === undefined ? (
            'It has one from its first deployment on'
          ) : (
            <Copyable text={database.host} what="host" />
          )}
        </dd>
        <dt>Port</dt>
        <dd>{database.port === undefined ? '–' : <Copyable text={String(database.port)} what="port" />}</dd>
        <dt>Login</dt>
        <dd>{shown === null ? '••••••••' : <Copyable text={shown.login} what="login" />}</dd>
        <dt>Password</dt>
        <dd>{shown === null ? '••••••••' : <Copyable text={shown.password} what="password" />}</dd>
        {shown !== null && (
          <>
            <dt>URL</dt>
            <dd>
              <Copyable text={urlOf(database, shown)} what="URL" />
            </dd>
          </>
        )}
      </dl>
      <ErrorNote error={read.error} />
      <p className="quiet-line">
        Services of its environment get all of this as built-in variables. Give them an alias, such as DATABASE_URL, on their page
        of variables.
      </p>
    </Box>
  );
}

function Users({ database }: { readonly database: Database }): ReactNode {
  const users = useQuery(usersOf(database));
  if (users.data === undefined && users.error !== null) return <FailedFace error={users.error} />;
  return (
    <Box title="Used by" more={users.data?.length}>
      {users.data === undefined && <LoadingRows rows={1} />}
      {users.data?.length === 0 && <div className="quiet-line">No application has an alias of its variables.</div>}
      {users.data?.map(({ id, name }) => (
        <Link
          key={id}
          className="item"
          to="/environment/$environmentId/service/$serviceId/variables"
          params={{ environmentId: database.environment.id, serviceId: id }}
        >
          <span />
          <b>
            <Cut text={name} />
          </b>
        </Link>
      ))}
    </Box>
  );
}
