import type { ReactNode } from 'react';
import { useRefusal } from '../data/rights.ts';
import { ButtonLink } from '../parts/button-link.tsx';

interface NewServiceProps {
  readonly environmentId: string;
  readonly isMain?: boolean;
}

/** Leads to the page of a new service; says why not, if the session may create none. */
export function NewService({ environmentId, isMain = false }: NewServiceProps): ReactNode {
  const refusal = useRefusal('createApplication', { environmentId });
  return (
    <ButtonLink to={`/environment/${environmentId}/new`} refusal={refusal} isMain={isMain}>
      New service
    </ButtonLink>
  );
}
