/** Bytes and counts that a push may not exceed. */
export interface GitLimits {
  readonly pushBytes: number;
  readonly pushObjects: number;
  /** Branches of one repository. */
  readonly references: number;
  readonly repositoryBytes: number;
}

const mebibyte = 1024 * 1024;

/**
 * Returns the bytes that git may allocate at once for a push: for its table of objects, or for one object. A small pack
 * may have an object that is a thousand times larger. Files beyond `bigFileThreshold` are read in parts.
 */
export function pushAllocation({ pushObjects }: GitLimits): number {
  return 64 * mebibyte + 128 * pushObjects;
}

/**
 * Returns the settings of each repository. Objects are checked, since programs of others read them later. A push from
 * a shallow clone is accepted: pipelines have nothing else. Packs are merged by `tidy`, and not while somebody waits
 * for a push.
 */
export function settingsOf({ pushBytes }: GitLimits): string {
  return `[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
	bigFileThreshold = 16m
[transfer]
	fsckObjects = true
[receive]
	maxInputSize = ${pushBytes}
	shallowUpdate = true
	denyDeleteCurrent = true
	autogc = false
	advertisePushOptions = false
[gc]
	auto = 0
	autoPackLimit = 50
[uploadpack]
	allowAnySHA1InWant = true
`;
}

/** Returns the hooks of each repository, by name. */
export function hooksOf(limits: GitLimits): Readonly<Record<string, string>> {
  return { 'pre-receive': preReceive(limits), 'post-receive': postReceive };
}

/**
 * Returns the hook that runs before a branch changes. It refuses references other than branches, the removal of the
 * deployed branch, as a deployment would find nothing, and too many branches. Then it waits until the server has
 * recorded the push, unless the server is of an earlier version, which answers nothing.
 */
function preReceive({ references }: GitLimits): string {
  return `#!/bin/sh
refuse() {
  printf '%s\\n' "$1"
  exit 1
}
changes=$(cat)
count=$(git for-each-ref --format=x | wc -l)
while read -r old new ref; do
  case "$ref" in
    refs/heads/*) ;;
    refs/tags/*) refuse "Davit takes branches only, and no tags. Push a branch: git push <remote> HEAD:$DAVIT_BRANCH" ;;
    *) refuse "Davit takes branches only, and not $ref. Push a branch: git push <remote> HEAD:$DAVIT_BRANCH" ;;
  esac
  case "$new" in
    *[!0]*)
      case "$old" in
        *[!0]*) ;;
        *) count=$((count + 1)) ;;
      esac ;;
    *)
      [ "$ref" != "refs/heads/$DAVIT_BRANCH" ] ||
        refuse "The branch $DAVIT_BRANCH is the one that is deployed. Deploy another branch first."
      count=$((count - 1)) ;;
  esac
done <<END
$changes
END
[ "$count" -le ${references} ] ||
  refuse "The repository would have $count branches, and may have ${references}. Remove some: git push <remote> --delete <branch>. The operator sets the limit with DAVIT_GIT_REFERENCES."
[ -n "$DAVIT_RECORDS" ] || exit 0
{ printf '%s\\n' "$changes"; echo ready; } >&3
IFS= read -r answer <&4
[ "$answer" = ok ] || refuse "\${answer:-The server ended. Push again.}"
`;
}

/**
 * Hands what changed to the server by descriptor 3, and prints what the server answers by descriptor 4. git itself
 * holds descriptor 3, too, so a line ends the report, and not the end of the stream.
 */
const postReceive = `#!/bin/sh
{ cat; echo end; } >&3
exec cat <&4
`;
