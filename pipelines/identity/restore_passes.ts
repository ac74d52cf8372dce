import type { IdentityLink } from '#schemas/identity_link.ts';

/**
 * Which records of identity.links are taught in which pass, so that their order within a pass does not matter: first what
 * somebody split, which no older fact undoes, then who
 * is part of whom and was seen when, then the edges that say what was decided, which give identifiers to those who hold
 * them, then those that do not say it. These only give away what nobody holds by a decision.
 */
export const RESTORE_PASSES: readonly ((link: IdentityLink) => boolean)[] = [
  ({ kind }) => kind === 'cut' || kind === 'split',
  ({ kind }) => kind === 'person',
  (link) => link.kind === 'edge' && !isUndecided(link),
  isUndecided,
];

/** Whether it is an edge of the versions before decisions were written down. */
export function isUndecided({ kind, decision = 'unknown' }: IdentityLink): boolean {
  return kind === 'edge' && decision === 'unknown';
}
