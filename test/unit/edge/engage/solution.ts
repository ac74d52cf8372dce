import { hash } from 'node:crypto';

interface Asked {
  salt: string;
  challenge: string;
  signature: string;
  maxnumber: number;
}

/** What a browser sends once it has solved a challenge. */
export function solutionOf({ salt, challenge, signature, maxnumber }: Asked): object {
  let number = 0;
  while (number <= maxnumber && hash('sha256', `${salt}${number}`, 'hex') !== challenge) number += 1;
  return { salt, challenge, signature, number };
}
