// What keys of the identity index begin with, and so which of them lie in one slot of a cluster.

import { hash } from 'node:crypto';

/**
 * What one script asks of a site lies in one slot: the epoch of the index, the site's persons, and what is remembered of its
 * visitors where that is in the same Redis. On a single server each site's keys have a tag of their own and the index has
 * one epoch; in a cluster the sites share sixteen slots, each with an epoch.
 */
export interface IdentityKeys {
  /** Prefixes of the epochs. */
  indexes: readonly string[];
  /** Prefix of the epoch of the part of the index that a site is in. */
  indexOf(siteId: string): string;
  personsOf(siteId: string): string;
  memoriesOf(siteId: string): string;
}

const INDEX = 'i:';
const TAGS = '0123456789abcdef'.split('');
const TAGS_KNOWN_MAX = 10_000;

const SINGLE: IdentityKeys = {
  indexes: [INDEX],
  indexOf: () => INDEX,
  personsOf: (siteId) => `${INDEX}{${siteId}}:`,
  memoriesOf: (siteId) => `engage:{${siteId}}:`,
};

const tags = new Map<string, string>();

/** Hashed once, as a batch may name thousands of sites. */
function tagOf(siteId: string): string {
  const known = tags.get(siteId);
  if (known !== undefined) return known;
  const tag = hash('sha256', siteId).charAt(0);
  if (tags.size >= TAGS_KNOWN_MAX) tags.clear();
  tags.set(siteId, tag);
  return tag;
}

const indexOf = (tag: string): string => `${INDEX}{${tag}}:`;

const CLUSTERED: IdentityKeys = {
  indexes: TAGS.map(indexOf),
  indexOf: (siteId) => indexOf(tagOf(siteId)),
  personsOf: (siteId) => `${indexOf(tagOf(siteId))}${siteId}:`,
  memoriesOf: (siteId) => `engage:{${tagOf(siteId)}}:${siteId}:`,
};

export const identityKeys = (isCluster: boolean): IdentityKeys => (isCluster ? CLUSTERED : SINGLE);

/** What is remembered of a visitor in a Redis without the index. */
export const separateMemory = (siteId: string, person: string): string => `${SINGLE.memoriesOf(siteId)}${person}`;
