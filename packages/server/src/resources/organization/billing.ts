import { AppError } from '@davit/base';

/** Organizations without a card may only use demo clusters. */
const withoutCard = 'NO_CREDIT_CARD';

/**
 * Fails with BILLING_RESTRICTION if the organization may not deploy on this cluster. Any restriction blocks
 * deployments; only NO_CREDIT_CARD still allows demo clusters.
 */
export function checkBilling(restriction: string | null, isDemoCluster: boolean): void {
  if (restriction === null || (restriction === withoutCard && isDemoCluster)) return;
  throw new AppError({
    code: 'BILLING_RESTRICTION',
    message:
      restriction === withoutCard
        ? 'The organization has no credit card yet: deployments are possible on demo clusters only. Add a card, or use a demo cluster.'
        : `Deployments of this organization are blocked (${restriction}). Settle its billing first.`,
  });
}

/** Fails with BILLING_RESTRICTION if the organization may not have a managed cluster. Any restriction forbids it. */
export function checkManagedCluster(restriction: string | null): void {
  if (restriction === null) return;
  throw new AppError({
    code: 'BILLING_RESTRICTION',
    message:
      restriction === withoutCard
        ? 'The organization has no credit card yet: managed clusters cannot be created. Add a card, or use a demo cluster.'
        : `The organization is restricted (${restriction}): managed clusters cannot be created. Settle its billing first.`,
  });
}
