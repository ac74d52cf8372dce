import type { MapContext } from './contract.ts';

/** SHA-256 of a first and a last name by Google's rules. */
export interface GoogleName {
  givenName: string | null;
  familyName: string | null;
}

/**
 * A person's name in the forms that Google's pages and libraries differ in: without apostrophes and hyphens, and with them
 * where it has any. None where no name is known.
 */
export function googleNames({
  identifiers,
  further,
}: Pick<MapContext<unknown>, 'identifiers' | 'further'>): GoogleName[] {
  const givenName = identifiers.first_name_google ?? identifiers.first_name;
  const familyName = identifiers.last_name_google ?? identifiers.last_name;
  if (givenName === null && familyName === null) return [];
  const given = further.find((one) => one.first_name_google !== null)?.first_name_google ?? null;
  const family = further.find((one) => one.last_name_google !== null)?.last_name_google ?? null;
  const whole =
    given === null && family === null ? [] : [{ givenName: given ?? givenName, familyName: family ?? familyName }];
  return [{ givenName, familyName }, ...whole];
}
