import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Face } from '../parts/face.tsx';

/** The face of an environment without services. */
export function NoServices({ environmentId }: { readonly environmentId: string }): ReactNode {
  return (
    <div className="box">
      <Face
        icon="empty"
        title="No services yet"
        action={
          <Link className="button main" to="/environment/$environmentId/new" params={{ environmentId }}>
            New service
          </Link>
        }
      >
        Create an application, a container, a database, a job, a chart or a Terraform configuration, then deploy it here.
      </Face>
    </div>
  );
}
