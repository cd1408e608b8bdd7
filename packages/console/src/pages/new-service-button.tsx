import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useRefusal } from '../data/rights.ts';
import { Button } from '../parts/button.tsx';

interface NewServiceProps {
  readonly environmentId: string;
  readonly isMain?: boolean;
}

/** Leads to the page of a new service; says why not, if the session may create none. */
export function NewService({ environmentId, isMain = false }: NewServiceProps): ReactNode {
  const refusal = useRefusal('createApplication', { environmentId });
  if (refusal !== null) {
    return (
      <Button look={isMain ? 'main' : 'plain'} refusal={refusal}>
        New service
      </Button>
    );
  }
  return (
    <Link className={`button ${isMain ? 'main' : ''}`} to="/environment/$environmentId/new" params={{ environmentId }}>
      New service
    </Link>
  );
}
