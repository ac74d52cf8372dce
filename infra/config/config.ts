/** Reading of configuration from the environment; the only place where process.env is read by services. */

export class ConfigError extends Error {
  readonly code = 'config_invalid';
}

export type Environment = Readonly<Record<string, string | undefined>>;

export function environment(): Environment {
  return process.env;
}

export function text(env: Environment, name: string, fallback?: string): string {
  const value = env[name];
  if (value !== undefined && value !== '') return value;
  if (fallback !== undefined) return fallback;
  throw new ConfigError(`${name} is not set`);
}

export function integer(
  env: Environment,
  name: string,
  fallback: number,
  min = 0,
  max = Number.MAX_SAFE_INTEGER,
): number {
  const value = env[name];
  if (value === undefined || value === '') return fallback;
  const number = Number(value);
  if (!Number.isInteger(number) || number < min || number > max) {
    throw new ConfigError(`${name} must be a whole number from ${min} to ${max}`);
  }
  return number;
}

export function flag(env: Environment, name: string, fallback: boolean): boolean {
  const value = env[name];
  if (value === undefined || value === '') return fallback;
  if (value === 'true' || value === '1') return true;
  if (value === 'false' || value === '0') return false;
  throw new ConfigError(`${name} must be true or false`);
}

export function list(env: Environment, name: string, fallback: readonly string[]): string[] {
  const value = env[name];
  if (value === undefined || value === '') return [...fallback];
  return value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** Base64 of at least `bytesMin` bytes. */
export function secret(env: Environment, name: string, bytesMin: number): Buffer {
  const decoded = Buffer.from(text(env, name), 'base64');
  if (decoded.length < bytesMin) throw new ConfigError(`${name} must be base64 of at least ${bytesMin} bytes`);
  return decoded;
}
