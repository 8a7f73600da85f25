import './argv.js';
import '../../../packages/cli/bin/before.js';
import { builtinModules, createRequire } from 'node:module';
import { constants } from 'node:os';
import { getRawAsset } from 'node:sea';
import { compileFunction, constants as vm } from 'node:vm';
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';
import { inflateRawSync } from 'node:zlib';
import { withoutName } from '@muster/base/own-parts';

/**
 * What the single executable begins with, in each process and thread: runs one of the programs that are in it as CommonJS modules.
 * Nothing of it is ever a file with a name: other users' commands could reach it, upgrades would have to clean it up, and a home
 * directory need not be there.
 */
const INSIDE = '/proc/self/exe/';
const BUNDLE = `${INSIDE}cli/dist/bundle/`;
const NATIVE = 'native:';
const PROGRAMS = { 'cli/bin/muster.js': `${BUNDLE}main.js` };
const WRAPPING = ['exports', 'require', 'module', '__filename', '__dirname'];

const modules = new Map();
const builtIn = createRequire('/');

function load(path) {
  const known = modules.get(path);
  if (known !== undefined) return known.exports;
  const module = { exports: {}, filename: path };
  modules.set(path, module);
  // The bundle is written in ASCII (build.mjs), of which V8 needs one byte a character.
  const code = unpacked(path.slice(INSIDE.length)).latin1Slice();
  const run = compileFunction(code, WRAPPING, {
    filename: path,
    // Plugins and libraries of node owners are files, loaded as by Node.js itself.
    importModuleDynamically: vm.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  run.call(module.exports, module.exports, required, module, path, BUNDLE);
  return module.exports;
}

/** Compressed, less of the executable comes into memory. */
function unpacked(asset) {
  return inflateRawSync(getRawAsset(asset));
}

function required(id) {
  if (id.startsWith('./')) return load(BUNDLE + id.slice(2));
  if (id.startsWith(NATIVE)) return native(id.slice(NATIVE.length));
  if (id.startsWith('node:') || builtinModules.includes(id)) return builtIn(id);
  throw Object.assign(new Error(`there is no module ${id} in the single executable`), { code: 'MODULE_NOT_FOUND' });
}

/**
 * A native module must be a file for the loader of the system. It is kept open, so that threads load the very same: two of SQLite in one
 * process would lose each other's locks.
 */
function native(name) {
  const key = `muster:${NATIVE}${name}`;
  const module = { exports: {} };
  const open = (path) => process.dlopen(module, path, constants.dlopen.RTLD_LAZY);
  const loaded = getEnvironmentData(key);
  if (loaded !== undefined) {
    open(loaded);
    return module.exports;
  }
  if (!isMainThread) throw new Error(`${name} must be loaded before a thread can load it`);
  try {
    withoutName(unpacked(`native/${name}.node`), (path) => {
      open(path);
      setEnvironmentData(key, path);
    });
  } catch (error) {
    throw new Error(`cannot load ${name}: ${error.message}`);
  }
  return module.exports;
}

const [, program] = process.argv;
load(PROGRAMS[program.slice(INSIDE.length)] ?? program);
