# collshim.bash - completion for bash of what collshim installs. With bash-completion it is loaded
# when one of the programs is first completed; without it, source this file.

# Options of a program. Behind a "=": what its value is, a list of words or FILE, DIR, CALL (a
# collective), ALGORITHM (a collective and its algorithm), COLLECTIVES and DISTRIBUTIONS (with
# commas), or ANY. tests/unit/completion_test compares them with --help and the man page.
_collshim_options()
{
	case $1 in
	collshim-info) echo --settings --limits --algorithms --tuning --check=FILE --learnt=FILE \
		--explain=CALL --draw=ALGORITHM --doctor --stuck=ANY --json \
		--version --help --ranks=ANY --ppn=ANY --nodes=ANY "--mpi=mpich|openmpi" --cyclic \
		--non-commutative "--wire=host|ib" --skew=ANY \
		"--imbalance=balanced|moderate|strong" --all --bytes=ANY --root=ANY --svg=FILE;;
	collshim-report) echo --svg --collectives=COLLECTIVES --json --min-lat=ANY --version --help;;
	collshim-run) echo --profile --compare --report=FILE --html=FILE --json --set=ANY --dry-run \
		--timeout=ANY --turns=ANY --minutes=ANY --build=DIR --library=FILE --version --help;;
	collshim-sim) echo --compare --list --version --help --nodes=ANY --ppn=ANY --cyclic \
		--bytes=ANY --distribution=DISTRIBUTIONS --root=ANY --non-commutative --overlap --alike \
		--groups=ANY --taper=ANY --eager=ANY "--model=hdr-like|10gbe-like|mt25204|mt23108|cx6-hdr" \
		--arrivals=PATTERN --calls=ANY --turn-root --seed=ANY --compute=ANY --looks=ANY \
		--poll=ANY --play "--node-model=epyc|xeon|arm|a64fx" --levels=ANY --json --svg=FILE \
		--memory=ANY --verbose;;
	collshim-bench.*) echo --collectives=COLLECTIVES --sizes=ANY --time=ANY \
		"--root=0|last|rotate" --distribution=DISTRIBUTIONS --cases=CALL --from-first \
		--imbalance=PATTERN --seed=ANY --permute --overlap --interval=ANY --compute=ANY --svg=FILE \
		--loggp "--wire=host|ib" --node --copy-out --repeat=ANY --rows=ANY --throughput=ANY --throughput-rooted=ANY \
		--per-rank-max --rotate-buffers=ANY --memory=ANY --limit=ANY --bandwidth=ANY \
		--line-latency=ANY --json=FILE --quiet --help --version;;
	collshim-tune) echo --mpirun=ANY --out=FILE --svg=FILE "--wire=host|ib" --minutes=ANY --colls=COLLECTIVES --sizes=ANY \
		--imbalance=PATTERN --resume --dry-run --keep-going --repeats=ANY --margin=ANY \
		--limit=ANY --patience=ANY --memory=ANY --runs=ANY --program=ANY --build=DIR \
		--info=FILE --bench=FILE --preload=FILE --version --help;;
	esac
}

# What stands where there is no option: words as above, or COMMAND for a command with its words.
_collshim_words()
{
	case $1 in
	collshim-run) echo COMMAND;;
	collshim-sim) echo ALGORITHM;;
	collshim-tune) echo "loggp|sweep|app";;
	*) echo FILE;;
	esac
}

_collshim_collectives="allgather allgatherv allreduce alltoall alltoallv alltoallw barrier bcast
	exscan gather gatherv reduce reduce_scatter reduce_scatter_block scan scatter scatterv"
_collshim_distributions="regular broadcast spike half decreasing geometric"
_collshim_patterns="none uniform: late: turning: exponential: first-node last-node file:"

# Lines of COLLECTIVE:ALGORITHM; of none without collshim-info.
_collshim_algorithms()
{
	collshim-info --algorithms 2>/dev/null | awk '
		/^  [a-z]/ { collective = $1 }
		/^    [a-z]/ { sub(/: .*/, ""); print collective ":" $1 }'
}

# _collshim_values KIND CURRENT: sets COMPREPLY.
_collshim_values()
{
	local kind=$1 current=$2 words="" before=""
	case $kind in
	ANY) return;;
	FILE)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return;;
	DIR)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -d -- "$current")
		return;;
	COMMAND)
		mapfile -t COMPREPLY < <(compgen -c -- "$current")
		return;;
	CALL) words=$_collshim_collectives; compopt -o nospace 2>/dev/null;;
	ALGORITHM) words=$(_collshim_algorithms);;
	COLLECTIVES | DISTRIBUTIONS)
		words="all $_collshim_collectives"
		[ "$kind" = COLLECTIVES ] || words="$_collshim_distributions"
		[[ $current != *,* ]] || before=${current%,*},
		current=${current##*,};;
	PATTERN) words=$_collshim_patterns; compopt -o nospace 2>/dev/null;;
	*) words=${kind//|/ };;
	esac
	mapfile -t COMPREPLY < <(compgen -P "$before" -W "$words" -- "$current")
}

# Has collshim-run's command begun among these words? Each option stands with its value's kind in
# the options of its caller.
_collshim_has_command()
{
	local word skips=no option
	for word; do
		if [ $skips = yes ]; then
			skips=no
		elif [[ $word != -* ]]; then
			return 0
		else
			for option in "${options[@]}"; do
				[[ $option != "$word="* ]] || skips=yes
			done
		fi
	done
	return 1
}

_collshim()
{
	local tool=${1##*/} line=${COMP_LINE:0:COMP_POINT} current previous option options kind=
	local words
	# Words as the program gets them: bash parts them at = and : too.
	current=${line##*[[:blank:]]}
	read -ra words <<<"${line%"$current"}"
	previous=${words[${#words[@]} - 1]}
	read -ra options <<<"$(_collshim_options "$tool")"
	if [[ $current == --*=* ]]; then
		previous=${current%%=*} current=${current#*=}
	fi
	for option in "${options[@]}"; do
		[[ $option != "$previous="* ]] || kind=${option#*=}
	done
	COMPREPLY=()
	# Behind collshim-run's own options: a command, and after it whatever that takes.
	if [ "$tool" = collshim-run ] && _collshim_has_command "${words[@]:1}"; then
		_collshim_values FILE "$current"
		return
	fi
	if [ -n "$kind" ]; then
		_collshim_values "$kind" "$current"
	elif [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "${options[*]%%=*}" -- "$current")
	else
		_collshim_values "$(_collshim_words "$tool")" "$current"
	fi
	# bash puts the answer behind the last : of the word.
	[[ $COMP_WORDBREAKS != *:* || $current != *:* ]] ||
		COMPREPLY=("${COMPREPLY[@]#"${current%:*}:"}")
}

complete -F _collshim collshim-info collshim-report collshim-run collshim-sim collshim-tune \
	collshim-bench.mpich collshim-bench.openmpi
