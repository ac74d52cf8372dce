/** Ids are part of record keys, metric labels and URLs, so they stay within these characters. */
export const ID_PATTERN = /^[a-z0-9_-]{1,64}$/;
