import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Everything in the workspace but the plan file. */
export function treeOf(dir: string, at = ''): readonly string[] {
  return readdirSync(join(dir, at)).flatMap(name => {
    const path = join(at, name)
    const stats = lstatSync(join(dir, path))
    if (path === 'plan.md' || path === '.runwright') return []
    if (stats.isDirectory()) return [`${path}/ ${stats.mode}`, ...treeOf(dir, path)]
    const content = stats.isSymbolicLink() ? readlinkSync(join(dir, path)) : readFileSync(join(dir, path))
    return [`${path} ${stats.mode} ${stats.mtimeMs} ${createHash('sha256').update(content).digest('hex')}`]
  })
}

/** A small repository with a change that is not committed. */
export function fill(workspace: string): void {
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', workspace, '-c', 'user.name=t', '-c', 'user.email=t@t', ...args])
  writeFileSync(join(workspace, 'a.txt'), 'one\ntwo\n')
  mkdirSync(join(workspace, 'src'))
  writeFileSync(join(workspace, 'src/b.txt'), 'bee\n')
  git('init', '-q')
  git('add', '.')
  git('commit', '-qm', 'first')
  writeFileSync(join(workspace, 'a.txt'), 'one\ntwo\nthree\n')
}

/** Ways to write by a command. Each works where nothing holds it, and must do nothing here. */
export const TRICKS: readonly (readonly [name: string, command: string])[] = [
  ['redirection', 'echo x >a.txt'],
  ['appending', 'echo x >>a.txt'],
  ['clobbering', 'set -C; echo x >|a.txt'],
  ['a new file', ': >new.txt'],
  ['a descriptor', 'exec 5<>a.txt; echo x >&5'],
  ['find -delete', 'find . -name a.txt -delete'],
  ['find -exec', 'find . -name a.txt -exec rm {} +'],
  ['find -fprint', 'find . -fprint a.txt'],
  ['sed -i', 'sed -i s/one/two/ a.txt'],
  ['sed w', "sed -n 'w new.txt' a.txt"],
  ['awk', `awk 'BEGIN{print "x" > "a.txt"}'`],
  ['tee', 'echo x | tee a.txt'],
  ['dd', 'echo x | dd of=a.txt status=none'],
  ['cp', 'cp src/b.txt a.txt'],
  ['mv', 'mv a.txt gone.txt'],
  ['ln', 'ln a.txt second.txt'],
  ['ln -s', 'ln -sf /etc/passwd a.txt'],
  ['install', 'install src/b.txt a.txt'],
  ['truncate', 'truncate -s 0 a.txt'],
  ['touch', 'touch -d 2001-01-01 a.txt'],
  ['chmod', 'chmod 777 a.txt'],
  ['mkdir', 'mkdir made'],
  ['rm', 'rm -rf src a.txt'],
  ['sort -o', 'sort -r -o a.txt a.txt'],
  [
    'patch',
    `printf '%s\\n' '--- a.txt' '+++ a.txt' '@@ -1 +1 @@' '-one' '+uno' | (patch -p0 || sed -i s/one/uno/ a.txt)`,
  ],
  ['tar', 'tar cf - src | tar xf - --transform s/src/out/'],
  ['xargs', 'echo a.txt | xargs rm'],
  ['printf -v and eval', 'printf -v c "%s" "echo x >a.txt"; eval "$c"'],
  ['the built-in history', 'HISTFILE=a.txt; set -o history; echo hi; history -w'],
  ['an inner shell', `sh -c 'echo x >a.txt'`],
  ['BASH_ENV', `BASH_ENV=<(echo 'echo x >a.txt') bash -c true`],
  ['ENV of sh', `e=$(mktemp); printf 'echo x >a.txt' >$e; ENV=$e sh -ic true; rm $e`],
  ['PROMPT_COMMAND', `PROMPT_COMMAND='echo x >a.txt' bash --norc -i <<<true`],
  ['the trace of bash', 'exec 6>a.txt; BASH_XTRACEFD=6; set -x; true'],
  ['a trap', `trap 'echo x >a.txt' EXIT`],
  ['a background process', '(setsid sh -c "sleep 0.1; echo x >a.txt" &) ; sleep 0.3'],
  ['perl', `perl -e 'open F,">","a.txt";print F 1'`],
  ['perl -i', `perl -pi -e s/one/two/ a.txt`],
  ['node', `node -e 'require("fs").writeFileSync("a.txt","x")'`],
  ['python', `python3 -c 'open("a.txt","w").write("x")' || node -e 'require("fs").appendFileSync("a.txt","x")'`],
  ['a memory map', `perl -e 'open F,"+<","a.txt" or die; syswrite F,"x"'`],
  ['git checkout', 'git checkout -q -- a.txt'],
  ['git stash', 'git stash -q'],
  ['git reset', 'git reset -q --hard'],
  ['git clean', 'git clean -fdxq -e nothing; rm a.txt'],
  ['git commit', 'git -c user.name=x -c user.email=x@x commit -qam x'],
  ['git config', 'git config user.name evil'],
  ['git -c alias', "git -c alias.x='!echo x >a.txt' x"],
  ['git -c core.editor', `git -c core.editor='echo x >a.txt;:' -c user.name=x -c user.email=x@x commit --amend -q`],
  ['git -c core.fsmonitor', "git -c core.fsmonitor='echo x >a.txt;:' status"],
  ['git diff --output', 'git diff --output=a.txt'],
  ['git diff by an external program', 'GIT_EXTERNAL_DIFF=\'sh -c "echo x >a.txt"\' git diff'],
  ['git archive -o', 'git archive -o new.tar HEAD'],
  ['git by another work tree', 'git --work-tree=src checkout -q HEAD -- .'],
  ['git with an index elsewhere', 'GIT_INDEX_FILE=a.txt git read-tree HEAD'],
  ['git grep -O', 'git grep -O\'sh -c "echo x >a.txt"\' one'],
  ['git worktree', 'git worktree add -q tree HEAD'],
  [
    'a hook',
    'printf "#!/bin/sh\\necho x >a.txt" >.git/hooks/post-checkout; chmod +x .git/hooks/post-checkout; git checkout -q',
  ],
  ['remounting', 'mount -o remount,rw,bind . ; unshare -Urm mount -o remount,rw,bind "$PWD"; echo x >a.txt'],
  ['the root of a process', 'echo x >/proc/self/cwd/a.txt; echo x >"/proc/1/root$PWD/a.txt"'],
  ['a link made elsewhere', 'd=$(mktemp -d); ln -s "$PWD/a.txt" $d/l; echo x >$d/l; rm -r $d'],
  ['a hard link of the plan file', 'ln -f a.txt plan.md; echo x >>plan.md; rm -f plan.md; mv a.txt plan.md'],
  ['a directory for the plan file', 'rm -f plan.md; mkdir plan.md; echo x >a.txt'],
]
