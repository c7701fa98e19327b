module example.org/weir

go 1.24
