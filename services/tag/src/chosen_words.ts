const GENERATED =
  /\d\d|\d[a-z]|[a-z]\d|[bcdfghjklmnpqrstvwxz]{5}|^(headlessui|radix|react|mui|ember|cdk|mat|css|sc|jss|svelte|ng)-/i;

/** Whether an id or a class looks like a word that somebody chose, not like a hash or a counter of a build. */
export const isChosen = (name: string): boolean => /^[a-z][\w-]*$/i.test(name) && !GENERATED.test(name);

/** Of a class too, where hashes of build tools stand behind words and in mixed case. */
export const isChosenClass = (name: string): boolean =>
  isChosen(name) && name === name.toLowerCase() && !/_[^_]{5,8}$/.test(name);
