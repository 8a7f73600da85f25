import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { chown, type FileHandle, mkdir, open, rename, rm, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { notRunnable } from '@muster/base';
import type { CommandOptions, ScriptOption, UploadOption } from '@muster/wire';
import type { Account } from '../execution/account.js';
import { JOB_FILE_PREFIX, makeFileDir, noteUpload, UPLOAD_PREFIX } from '../execution/job-file.js';
import { headOf } from '../execution/script-head.js';
import { type HeldDirectory, holdDirectory, PathRefused, refusal, standing } from './beneath.js';
import { type DownloadDeps, download, FileUnavailable } from './download.js';
import type { FilePolicy } from './policy.js';

/** Files of a job that are here and not in their place. */
interface Staged {
  /** Path of the script. */
  script: string | null;
  readonly directories: string[];
  readonly uploads: {
    readonly held: HeldDirectory;
    readonly part: string;
    readonly note: string;
    readonly dest: string;
  }[];
}

export interface Staging {
  readonly jobId: string;
  readonly options: Pick<CommandOptions, 'script' | 'uploads'>;
  readonly account: Account | null;
  /** Where scripts are written. */
  readonly fileDir: string;
  readonly policy: Pick<FilePolicy, 'upload'>;
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/**
 * Fetches files of push jobs before their nodes vote, and puts them in their place when the job starts. Uploads are written beside
 * their destination and renamed, so that it never holds half of one.
 */
export class JobFiles {
  readonly #deps: DownloadDeps;
  readonly #staged = new Map<string, Staged>();

  constructor(deps: DownloadDeps) {
    this.#deps = deps;
  }

  /**
   * Why the node cannot have the files; null when all are here.
   * @throws the reason of the signal when that is aborted; nothing is left then
   */
  async stage(staging: Staging, signal: AbortSignal): Promise<string | null> {
    const { jobId, options } = staging;
    const { script, uploads = [] } = options;
    if (script === undefined && uploads.length === 0) return null;
    await this.drop(jobId);
    const staged: Staged = { script: null, directories: [], uploads: [] };
    this.#staged.set(jobId, staged);
    try {
      if (script !== undefined) await this.#stageScript(staging, script, staged, signal);
      for (const upload of uploads) await this.#stageUpload(staging, upload, staged, signal);
      return null;
    } catch (error) {
      await this.drop(jobId);
      signal.throwIfAborted();
      if (error instanceof FileUnavailable || error instanceof PathRefused) return error.message;
      return `files of the job cannot be written: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  /** Path of the script of a job that was staged. */
  scriptOf(jobId: string): string | null {
    return this.#staged.get(jobId)?.script ?? null;
  }

  /** Where an upload is until it is put in its place; null: it was not staged. */
  partOf(jobId: string, dest: string): string | null {
    const upload = this.#staged.get(jobId)?.uploads.find((one) => one.dest === dest);
    return upload === undefined ? null : upload.held.at(upload.part);
  }

  /** Puts uploads in their place. @throws PathRefused */
  async place(jobId: string): Promise<void> {
    for (const { held, part, note, dest } of this.#staged.get(jobId)?.uploads.splice(0) ?? []) {
      try {
        await rename(held.at(part), held.at(held.name));
      } catch (error) {
        await unlink(held.at(part)).catch(() => undefined);
        throw refusal(dest, error);
      } finally {
        await unlink(note).catch(() => undefined);
        await held.close();
      }
    }
  }

  /** Takes away what is left of a job: its script, and uploads that were not put in their place. */
  async drop(jobId: string): Promise<void> {
    const staged = this.#staged.get(jobId);
    if (staged === undefined) return;
    this.#staged.delete(jobId);
    for (const { held, part, note } of staged.uploads) {
      await unlink(held.at(part)).catch(() => undefined);
      await unlink(note).catch(() => undefined);
      await held.close();
    }
    for (const directory of staged.directories) await rm(directory, { recursive: true, force: true });
  }

  async #stageScript(
    { jobId, account, fileDir }: Staging,
    script: ScriptOption,
    staged: Staged,
    signal: AbortSignal,
  ): Promise<void> {
    await makeFileDir(fileDir);
    const directory = join(fileDir, `${JOB_FILE_PREFIX}-${randomUUID()}`);
    await mkdir(directory, { mode: 0o700 });
    staged.directories.push(directory);
    const path = join(directory, script.name);
    const handle = await open(path, O_WRONLY | O_CREAT | O_EXCL, 0o700);
    await this.#fill(handle, jobId, script, 0o700, account, signal);
    if (account !== null) await chown(directory, account.uid, account.gid);
    const why = notRunnable(await headOf(path));
    if (why !== null) throw new PathRefused(`the script ${script.name} ${why}`);
    staged.script = path;
  }

  async #stageUpload(
    { jobId, account, fileDir, policy }: Staging,
    upload: UploadOption,
    staged: Staged,
    signal: AbortSignal,
  ): Promise<void> {
    const place = policy.upload(upload.dest);
    if (place === null) throw new PathRefused(`files may not be put at '${upload.dest}' on this node`);
    const held = await holdDirectory(place);
    const id = randomUUID();
    const part = `${UPLOAD_PREFIX}-${id}`;
    await makeFileDir(fileDir);
    const note = await noteUpload(fileDir, id, join(dirname(upload.dest), part));
    staged.uploads.push({ held, part, note, dest: upload.dest });
    const there = await standing(held);
    if (there?.isDirectory() === true) throw new PathRefused(`'${upload.dest}' is a directory`);
    const handle = await open(held.at(part), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600).catch(
      (error: unknown) => {
        throw refusal(upload.dest, error);
      },
    );
    await this.#fill(handle, jobId, upload, upload.mode, account, signal);
  }

  async #fill(
    handle: FileHandle,
    jobId: string,
    file: ScriptOption | UploadOption,
    mode: number,
    owner: Account | null,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await download(this.#deps, jobId, file, handle, signal);
      if (owner !== null) await handle.chown(owner.uid, owner.gid);
      await handle.chmod(mode);
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
}
